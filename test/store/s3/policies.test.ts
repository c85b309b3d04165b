/** The policies of docs/s3-policies: each role does its work with its own, and with no permission less. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, PutBucketPolicyCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gcCommand } from '../../../src/cli/commands/gc.ts';
import { planCommand } from '../../../src/cli/commands/plan.ts';
import { statusCommand } from '../../../src/cli/commands/status.ts';
import { verifyCommand } from '../../../src/cli/commands/verify.ts';
import { systemClock } from '../../../src/core/model/index.ts';
import { objectKey } from '../../../src/lake/keys.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { ObjectStore } from '../../../src/store/store.ts';
import { commandRun } from '../../helpers/command-run.ts';
import { missingRadosgwPrograms, type Radosgw, type S3Address, startRadosgw } from '../../helpers/radosgw.ts';
import type { TestService } from '../../helpers/run.ts';
import { DATE, FEW_SERIES, mustExport, startTestService, VESSEL } from '../../helpers/run.ts';
import { s3ForTests } from '../../helpers/s3.ts';
import { awsEnv, plainClient } from '../../helpers/s3-client.ts';
import { bytes, collect } from '../store-suite.ts';

// The users need a server of their own; where there is no radosgw at all, the suite says so (or fails, in CI).
const s3 = await s3ForTests();
const BUCKET = 'my-bucket';
const LAKE_URL = `s3://${BUCKET}/vessels`;
const ROLES = ['exporter', 'reader', 'gc'] as const;
type Role = (typeof ROLES)[number];

interface Statement {
  readonly Action: readonly string[];
}

const statementsOf = (role: Role): Statement[] =>
  JSON.parse(readFileSync(new URL(`../../../docs/s3-policies/${role}.json`, import.meta.url), 'utf8'))
    .Statement;

describe.skipIf(s3 === undefined || missingRadosgwPrograms().length > 0)('policies', () => {
  let server: Radosgw;
  let root: S3Client;
  let service: TestService;
  const users = {} as Record<Role, S3Address>;

  /** What each role may do: what its file says, without one of the permissions where that is named. */
  async function allow(without?: string): Promise<void> {
    const Statement = ROLES.flatMap((role) =>
      statementsOf(role).map((statement, index) => ({
        ...statement,
        Sid: `${role}${index}`,
        Principal: { AWS: [`arn:aws:iam:::user/${role}`] },
        // An action that is given nobody may be asked for: none may be no list.
        Action: [...statement.Action.filter((action) => action !== without), 's3:GetBucketLocation'],
      })),
    );
    const Policy = JSON.stringify({ Version: '2012-10-17', Statement });
    await root.send(new PutBucketPolicyCommand({ Bucket: BUCKET, Policy }));
  }

  beforeAll(async () => {
    server = await startRadosgw(join(tmpdir(), `vessel-export-s3-${randomUUID().slice(0, 8)}`));
    root = plainClient(server.address);
    await root.send(new CreateBucketCommand({ Bucket: BUCKET }));
    for (const role of ROLES) users[role] = await server.newUser(role);
    await allow();
    service = await startTestService();
  });
  afterAll(async () => {
    root?.destroy();
    await service?.close();
    await server?.stop();
  });

  const asRole = (role: Role, lakeUrl = LAKE_URL) => openStore(lakeUrl, awsEnv(users[role]));

  const ask = (role: Role, lakeUrl: string, command: Parameters<typeof commandRun>[1]) =>
    commandRun(
      {
        service,
        lakeUrl,
        jobs: { measurements: FEW_SERIES },
        env: { ...awsEnv(users[role]), LOG_LEVEL: 'silent' },
      },
      command,
    );

  test.each(['plain', 'delta'])('each role does its work in a lake that is %s', async (layout) => {
    const lakeUrl = `${LAKE_URL}/${layout}`;
    const env = { ...awsEnv(users.exporter), LAKE_LAYOUT: layout };
    await mustExport({ service, lakeUrl, env });
    await mustExport({ service, lakeUrl, env, args: { force: true } });
    const left = await collect((await asRole('exporter', lakeUrl)).list('_'));
    expect(left.filter(({ key }) => key.startsWith('_checkpoints/'))).toEqual([]);

    const to = '2026-01-06';
    const range = { from: DATE, to, json: true };
    const reading = {
      verify: await ask('reader', lakeUrl, (context) => verifyCommand(context, [], range)),
      deep: await ask('reader', lakeUrl, (context) => verifyCommand(context, [], { ...range, deep: true })),
      status: await ask('reader', lakeUrl, (context) => statusCommand(context, [], range)),
      plan: await ask('reader', lakeUrl, (context) =>
        planCommand(context, [], { ...range, vessel: [VESSEL] }),
      ),
    };
    for (const [name, { code, stdout, stderr }] of Object.entries(reading))
      expect([name, code, stdout + stderr]).toEqual([name, 0, expect.any(String)]);

    // An upload that nobody goes on with, looked at a week later.
    const exporter = await asRole('exporter', lakeUrl);
    await exporter.begin(objectKey({ job: 'measurements', vessel: VESSEL, date: '2026-01-04' }), 'a-nonce');
    const clock = { ...systemClock, nowMs: () => Date.now() + 7 * 86_400_000 };
    const collected = await ask('gc', lakeUrl, (context) =>
      gcCommand(context, { json: true, yes: true }, { clock }),
    );
    expect(collected.code).toBe(0);
    const { items } = JSON.parse(collected.stdout) as { items: { kind: string; state: string }[] };
    expect(items.map(({ state }) => state)).toContain('removed');
    expect(await collect(exporter.listUploads(''))).toEqual([]);
    await exporter.close();
  });

  const refusal = (work: () => Promise<unknown>) =>
    work().then(
      () => 'done',
      (error: { code?: string }) => error.code,
    );

  test('a reader writes nothing, gc no data, and nobody leaves the prefix', async () => {
    const [reader, gc] = [await asRole('reader'), await asRole('gc')];
    const outside = await asRole('exporter', `s3://${BUCKET}/elsewhere`);
    const direct = await openStore(`s3://${BUCKET}/elsewhere`, awsEnv(server.address));
    await direct.put('a', bytes('x'));
    await direct.close();
    const writes = {
      'reader put': () => reader.put('a', bytes('x')),
      'reader remove': () => reader.remove('a'),
      'reader upload': () => reader.begin('a', 'n'),
      'gc put': () => gc.put('measurements/a.parquet', bytes('x')),
      'exporter put elsewhere': () => outside.put('a', bytes('x')),
      'exporter get elsewhere': () => outside.get('a'),
    };
    for (const [name, work] of Object.entries(writes))
      expect(`${name}: ${await refusal(work)}`).toBe(`${name}: no-permission`);
    await Promise.all([reader, gc, outside].map((store) => store.close()));
  });

  test('without any one permission of an exporter its call is refused, and the others are not', async () => {
    const store = await asRole('exporter');
    const direct = await openStore(LAKE_URL, awsEnv(server.address));
    const calls: Record<string, (key: string) => Promise<unknown>> = {
      's3:ListBucket': () => collect(store.list('_none/')),
      's3:ListBucketMultipartUploads': () => collect(store.listUploads('')),
      's3:GetObject': () => store.get('there'),
      's3:PutObject': (key) => store.put(key, bytes('x')),
      's3:DeleteObject': (key) => store.remove(key),
      's3:AbortMultipartUpload': (key) => begun(direct, key).then((upload) => store.abandon(upload)),
      's3:ListMultipartUploadParts': (key) =>
        begun(direct, key).then((upload) => store.adopt(upload, [], upload.nonce)),
    };
    expect(Object.keys(calls).sort()).toEqual(
      statementsOf('exporter')
        .flatMap(({ Action }) => Action)
        .sort(),
    );
    await direct.put('there', bytes('x'));
    for (const without of Object.keys(calls)) {
      await allow(without);
      const refused: string[] = [];
      for (const [action, call] of Object.entries(calls))
        if ((await refusal(() => call(randomUUID()))) === 'no-permission') refused.push(action);
      expect(refused).toEqual([without]);
    }
    await allow();
    await Promise.all([store.close(), direct.close()]);
  });

  const begun = (store: ObjectStore, key: string) => store.begin(key, randomUUID());
});
