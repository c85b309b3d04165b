/** Authentication, versions, formats, errors. */
import { expect } from 'vitest';
import { basic, CLIENT, VESSEL } from '../running-service.ts';
import { DAY, HOUR, NEW, type Rows, refusal, status } from './row.ts';

export const ACCESS: Rows = {
  async 'the token endpoint answers a JWT with an expiry'(s) {
    const token = await s.token();
    const [header, payload] = token
      .split('.')
      .map((part) =>
        part.startsWith('ey') ? JSON.parse(Buffer.from(part, 'base64url').toString()) : undefined,
      );
    expect(header.alg).toBe('HS256');
    expect(payload.exp - payload.iat).toBe(3600);
    expect(payload.scope).toBe('read:*');
  },
  async 'wrong credentials give 401 with the error body'(s) {
    for (const authorization of [
      basic(CLIENT.clientId, 'wrong'),
      basic('nobody', CLIENT.clientSecret),
      'Basic !!',
      'Bearer x',
      '',
    ]) {
      const response = await fetch(`${s.service.authUrl}/oauth2/token`, {
        method: 'POST',
        headers: { authorization },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      });
      expect((await refusal(response)).status).toBe(401);
    }
  },
  async 'another grant type gives 400'(s) {
    const response = await fetch(`${s.service.authUrl}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: basic(CLIENT.clientId, CLIENT.clientSecret) },
      body: new URLSearchParams({ grant_type: 'password' }),
    });
    expect((await refusal(response)).status).toBe(400);
  },
  async 'a missing, wrong, tampered or unsigned token gives 401'(s) {
    const token = await s.token();
    const [head, body, signature] = token.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = [
      '',
      'Basic abc',
      'Bearer nonsense',
      `Bearer ${head}.${encode({ ...claims, scope: 'read:* x' })}.${signature}`,
      `Bearer ${encode({ alg: 'none', typ: 'JWT' })}.${body}.`,
      `Bearer ${encode({ alg: 'HS512', typ: 'JWT' })}.${body}.${signature}`,
    ];
    for (const authorization of forged)
      expect(await status(s, `/metadata/flat/${VESSEL}/Roll`, { authorization })).toBe(401);
    expect((await s.get(`/metadata/flat/${VESSEL}/Roll`, { authorization: `Bearer ${token}` })).status).toBe(
      200,
    );
  },
  async 'every 200 carries api-version; the default behaves as 2025-10-31'(s) {
    const version = async (headers: Record<string, string>) =>
      (await s.get(`/metadata/flat/${VESSEL}/Roll`, headers)).headers.get('api-version');
    expect(await version({})).toBe('2025-10-31');
    expect(await version(NEW)).toBe('2026-09-10');
    expect(await version({ 'x-api-version': '2026-01-01-beta' })).toBe('2026-01-01-beta');
  },
  async '2026-01-01-beta answers as 2026-09-10'(s) {
    const path = `/statistics/flat/${VESSEL}/Wind%20Speed?${DAY}&window=6h`;
    expect(await s.text(path, { 'x-api-version': '2026-01-01-beta' })).toBe(await s.text(path, NEW));
  },
  async 'an unknown version gives 400'(s) {
    expect(await status(s, `/metadata/flat/${VESSEL}/Roll`, { 'x-api-version': '2024-01-01' })).toBe(400);
  },
  async 'the Accept header chooses the format'(s) {
    const type = async (accept: string) =>
      (await s.get(`/measurements/flat/${VESSEL}/Roll?${HOUR}`, { accept })).headers.get('content-type');
    expect(await type('application/x-ndjson')).toMatch(/x-ndjson/);
    expect(await type('application/json;q=0.5, application/x-ndjson')).toMatch(/x-ndjson/);
    expect(await type('application/vnd.apache.parquet')).toBe('application/vnd.apache.parquet');
    expect(await type('*/*')).toMatch(/^application\/json/);
  },
  async 'format goes before Accept'(s) {
    const response = await s.get(`/measurements/flat/${VESSEL}/Roll?${HOUR}&format=json`, {
      accept: 'application/x-ndjson',
    });
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  },
  async 'an unsupported format gives 406'(s) {
    for (const query of ['format=html', 'format=csv', 'format=xml', 'format='])
      expect(await status(s, `/measurements/flat/${VESSEL}/Roll?${query}`)).toBe(406);
    expect(await status(s, `/statistics/flat/${VESSEL}/Roll?format=parquet`)).toBe(406);
    expect(await status(s, `/measurements/flat/${VESSEL}/Roll`, { accept: 'text/html' })).toBe(406);
  },
  async 'a POST without Content-Type, or another, gives 415'(s) {
    const authorization = `Bearer ${await s.token()}`;
    const url = `${s.service.baseUrl}/measurements/query`;
    const without = await fetch(url, {
      method: 'POST',
      headers: { authorization },
      body: new Uint8Array([0x5b, 0x5d]),
    });
    expect((await refusal(without)).status).toBe(415);
    const text = await s.post('/measurements/query', '[]', { 'content-type': 'text/plain' });
    expect((await refusal(text)).status).toBe(415);
    const charset = await s.post(`/measurements/query?${HOUR}`, [`flat/${VESSEL}/Roll`], {
      'content-type': 'application/json; charset=utf-8',
    });
    expect(charset.status).toBe(200);
  },
  async 'a POST body is an array of at least one string'(s) {
    for (const body of ['', '{', '[]', '{"a":1}', '[1]', '[""]', '"flat/x"', '["flat"]', 'null'])
      expect((await refusal(await s.post('/measurements/query', body))).status).toBe(400);
  },
  async 'decision: 404 for an unknown domain and for what matches no series'(s) {
    expect(await status(s, '/measurements/nothing/x')).toBe(404);
    expect(await status(s, `/statistics/flat/IMO9999999/*`)).toBe(404);
    expect((await refusal(await s.post('/measurements/query', ['flat/IMO9321483/Nothing']))).status).toBe(
      404,
    );
  },
  async 'decision: 404 for what is not served at all, with the error body'(s) {
    for (const path of ['/', '/measurements', '/events', '/metadata/query/../../x'])
      expect([400, 404]).toContain(await status(s, path));
    const response = await fetch(s.service.baseUrl.replace('/test', '/other/metadata/flat'), {});
    expect((await refusal(response)).status).toBe(404);
  },
};
