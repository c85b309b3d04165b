/** A job's table by its log alone, read as any program could: one JSON file after the other, with nothing of src. */
import { expect } from 'vitest';
import type { Receipt } from '../../src/core/model/index.ts';
import type { ObjectStore } from '../../src/store/store.ts';

/** The files of each vessel-day, by its folder below the job's, at a version. */
type TableView = Map<string, { readonly path: string; readonly rows: number }[]>;

/** Replay the whole log. Fails where a version gives a vessel-day more than one file, or takes one that is not there. */
export async function replayTable(store: ObjectStore, job: string) {
  const view: TableView = new Map();
  const operations: string[] = [];
  for (let version = 0; ; version++) {
    const found = await store.get(`${job}/_delta_log/${String(version).padStart(20, '0')}.json`);
    if (found === undefined) return { versions: version, operations, view };
    const lines = Buffer.from(found.bytes).toString().trim().split('\n');
    const actions = lines.map((line) => JSON.parse(line));
    operations.push(actions.find(({ commitInfo }) => commitInfo)?.commitInfo.operation);
    for (const { remove } of actions.filter((action) => action.remove)) {
      const folder = folderOf(remove.path);
      const before = view.get(folder) ?? [];
      expect(
        before.map(({ path }) => path),
        `version ${version}`,
      ).toContain(remove.path);
      view.set(
        folder,
        before.filter(({ path }) => path !== remove.path),
      );
    }
    for (const { add } of actions.filter((action) => action.add)) {
      const folder = folderOf(add.path);
      expect(`vessel=${add.partitionValues.vessel}/date=${add.partitionValues.date}`).toBe(folder);
      const rows = JSON.parse(add.stats).numRecords;
      view.set(folder, [...(view.get(folder) ?? []), { path: add.path, rows }]);
    }
    for (const [folder, files] of view)
      expect(files.length, `${folder} at version ${version}`).toBeLessThan(2);
  }
}

/** Table, receipts and objects of a job say the same of every vessel-day. The receipts, by vessel-day's folder. */
export async function expectTableAgrees(store: ObjectStore, job: string): Promise<Map<string, Receipt>> {
  const { view } = await replayTable(store, job);
  const receipts = new Map<string, Receipt>();
  for await (const { key } of store.list(`_ledger/${job}/`)) {
    const receipt: Receipt = JSON.parse(Buffer.from((await store.get(key))!.bytes).toString());
    receipts.set(`vessel=${receipt.vessel}/date=${receipt.date}`, receipt);
  }
  for (const [folder, { rows, object }] of receipts) {
    const files = (view.get(folder) ?? []).map(({ path, rows: counted }) => [`${job}/${path}`, counted]);
    expect(files, folder).toEqual(object === null ? [] : [[object.key, rows]]);
    if (object !== null) expect((await store.head(object.key))?.sizeBytes, folder).toBe(object.sizeBytes);
  }
  for (const [folder, files] of view) if (files.length > 0) expect([...receipts.keys()]).toContain(folder);
  return receipts;
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
