import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { readTraceContext } from '../../../src/core/model/tracing.ts';
import { createLog } from '../../../src/runtime/log.ts';
import { idHeaders, withoutRequestIds } from '../../../src/source/fetch/address.ts';
import { answer, clientOf, errorOf, it, PAGE, refuse } from './listener.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';
const PARENT = `00-${TRACE_ID}-${SPAN_ID}-01`;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function keepLog() {
  const lines: Record<string, unknown>[] = [];
  return {
    lines,
    log: createLog({ level: 'debug', readable: false, write: (line) => lines.push(JSON.parse(line)) }),
  };
}

describe('the id of a request', () => {
  it('is new for each try, and the same at the service, in the log and in the error', async ({
    listener,
  }) => {
    const { lines, log } = keepLog();
    listener.always(refuse(503));
    const client = clientOf(listener, { log, limits: { retry: { maxAttempts: 3 } } });
    const error = await errorOf(client.readAll(PAGE));
    const ids = listener.seen.map(({ headers }) => headers['x-request-id'] as string);
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(UUID);
    const logged = (shape: RegExp) =>
      lines.filter(({ msg }) => shape.test(msg as string)).map((line) => line.requestId);
    expect(logged(/measurements of .*trying again/)).toEqual(ids.slice(0, 2));
    expect(logged(/measurements of .*request ended/)).toEqual(ids);
    expect(error.message).toContain(`(request ${ids[2]}): the service answered 503`);
    expect(withoutRequestIds(error.message)).not.toContain(ids[2]);
    expect(listener.seenTokens[0]!.headers['x-request-id']).toMatch(UUID);
    expect(ids).not.toContain(listener.seenTokens[0]!.headers['x-request-id']);
  });

  it('is in the lines that are logged while its answer is read, and in no other', async ({ listener }) => {
    const { lines, log } = keepLog();
    const client = clientOf(listener, { log });
    const asked = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        client.read(async ({ body, requestId }) => {
          for await (const _ of body);
          log.info({ n }, 'read');
          return requestId;
        }),
      ),
    );
    log.info({}, 'after');
    const read = lines.filter(({ msg }) => msg === 'read');
    expect(new Set(asked).size).toBe(8);
    for (const { n, requestId } of read) expect(requestId).toBe(asked[n as number]);
    expect(lines.at(-1)).not.toHaveProperty('requestId');
  });

  it('names a token that was refused, and an answer that broke off', async ({ listener }) => {
    listener.scriptTokens(refuse(401));
    const refused = await errorOf(clientOf(listener).readAll(PAGE));
    expect(refused.message).toContain(
      `(request ${listener.seenTokens[0]!.headers['x-request-id']}) answered 401`,
    );
    listener.script(answer('', { 'content-encoding': 'br' }));
    const odd = await errorOf(clientOf(listener).readAll(PAGE));
    expect(odd.message).toContain(`(request ${listener.seen[0]!.headers['x-request-id']})`);
  });
});

describe('a trace that somebody began', () => {
  it('goes on with a new span for every request', async ({ listener }) => {
    const trace = readTraceContext({ TRACEPARENT: PARENT, TRACESTATE: 'vendor=1' });
    const client = clientOf(listener, { trace });
    await client.readAll(PAGE);
    await client.readAll(PAGE);
    const sent = [...listener.seenTokens, ...listener.seen].map(({ headers }) => headers);
    const parents = sent.map((headers) => headers.traceparent as string);
    for (const parent of parents) expect(parent).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-01$`));
    expect(new Set([...parents, PARENT]).size).toBe(4);
    expect(sent.map((headers) => headers.tracestate)).toEqual(['vendor=1', 'vendor=1', 'vendor=1']);
  });

  it('is none without one', async ({ listener }) => {
    await clientOf(listener).readAll(PAGE);
    expect(listener.seen[0]!.headers).not.toHaveProperty('traceparent');
    expect(idHeaders('id', undefined)).toEqual({ 'x-request-id': 'id' });
  });

  it.each([
    ['', undefined],
    [PARENT.toUpperCase(), undefined],
    [`ff${PARENT.slice(2)}`, undefined],
    [`${PARENT}-more`, undefined],
    [`00-${'0'.repeat(32)}-b7ad6b7169203331-01`, undefined],
    [`00-${TRACE_ID}-${'0'.repeat(16)}-01`, undefined],
    [` ${PARENT}\n`, { traceId: TRACE_ID, spanId: SPAN_ID, flags: '01' }],
    [`cc${PARENT.slice(2)}-what-comes-later`, { traceId: TRACE_ID, spanId: SPAN_ID, flags: '01' }],
    [`${PARENT.slice(0, -2)}ff`, { traceId: TRACE_ID, spanId: SPAN_ID, flags: '03' }],
  ])('%j is read as W3C says', (TRACEPARENT, expected) => {
    expect(readTraceContext({ TRACEPARENT })).toEqual(expected);
  });

  it('never sends what is not a header', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (tail, TRACESTATE) => {
        for (const TRACEPARENT of [tail, PARENT + tail]) {
          const trace = readTraceContext({ TRACEPARENT, TRACESTATE });
          if (!Object.values(idHeaders('id', trace)).every((value) => /^[\x20-\x7e]+$/.test(value)))
            return false;
        }
        return true;
      }),
    );
  });
});
