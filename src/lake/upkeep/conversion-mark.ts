/**
 * Whose conversion it is: a name in `_lake.json`. Of two at once the later takes over by writing its own, and the other
 * finds that before its next entry.
 */
import { randomUUID } from 'node:crypto';
import { ConfigError, FencedError } from '../../core/errors.ts';
import type { ObjectStore, Version } from '../../store/store.ts';
import { expectConditionalPut } from '../../store/unfit-store.ts';
import { jsonBytes } from '../json.ts';
import { LAKE_KEY } from '../keys.ts';
import type { LakeFile } from '../lake-file.ts';
import { hasContent, readLakeFile } from '../lake-file.ts';

/** Our name, and the file that has it. */
export interface OwnMark {
  readonly by: string;
  readonly file: LakeFile;
  readonly version: Version;
}

/** Say that the conversion has begun, and is ours; undefined where the lake is a delta lake. Throws ConfigError `no-lake`. */
export async function beginConversion(store: ObjectStore): Promise<OwnMark | undefined> {
  const by = randomUUID();
  await expectConditionalPut(store, 'a table');
  for (;;) {
    const found = await readLakeFile(store);
    if (found?.file.layout === 'delta') return undefined;
    if (found === undefined && !(await hasContent(store)))
      throw new ConfigError(
        'no-lake',
        `${store.url}: found no lake of vessel-export, expected one; for a new one set LAKE_LAYOUT=delta, and export`,
      );
    const plain: LakeFile = found?.file ?? { lakeVersion: 1, layout: 'plain' };
    const file: LakeFile = { ...plain, converting: { to: 'delta', by } };
    const version = await store.putIf(LAKE_KEY, jsonBytes(file), found?.version ?? null);
    if (version !== undefined) return { by, file, version };
  }
}

/** Say that the lake is a delta lake. Throws FencedError as `expectOurs`. */
export async function finishConversion(store: ObjectStore, own: OwnMark): Promise<void> {
  const { converting: _, ...others } = own.file;
  const file: LakeFile = { ...others, layout: 'delta' };
  if ((await store.putIf(LAKE_KEY, jsonBytes(file), own.version)) === undefined)
    await expectOurs(store, own, 'delta');
}

/** Throws FencedError when the conversion is another's by now. */
export async function expectOurs(store: ObjectStore, { by }: OwnMark, orLayout?: 'delta'): Promise<void> {
  const found = await readLakeFile(store);
  if (found?.file.converting?.by === by) return;
  if (orLayout !== undefined && found?.file.layout === orLayout) return;
  throw new FencedError('lake-converting', `${LAKE_KEY}: another conversion has taken over; this one stops`);
}
