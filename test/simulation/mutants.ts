/** Defects to plant, one at a time: in a file of src a text that is there once, and what takes its place. */
import type { Profile } from './history.ts';

export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly put: string;
  readonly only?: Profile;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a claim is written whoever has written into it',
    file: 'lake/claims/claim.ts',
    find: 'const version = await this.#ports.store.putIf(key, claimBytes(file), this.#version);',
    put: 'await this.#ports.store.put(key, claimBytes(file)); const version = (await this.#ports.store.head(key))?.version;',
  },
  {
    name: 'the other claims are believed as they were before our own',
    file: 'lake/claims/claims.ts',
    find: 'const others = await findClaims(store, day, version === undefined ? undefined : key);',
    put: 'const others = version === undefined ? await findClaims(store, day) : [];',
  },
  {
    name: 'a heartbeat that has not come yet counts',
    file: 'lake/claims/claims.ts',
    find: 'return heartbeatMs <= nowMs + CLOCK_SKEW_MS ? heartbeatMs : 0;',
    put: 'return heartbeatMs;',
  },
  {
    name: 'a receipt is put over whatever is there',
    file: 'lake/claims/claim.ts',
    find: 'const written = before === undefined ? undefined : await store.putIf(key, bytes, before);',
    put: 'await store.put(key, bytes); const written = (await store.head(key))?.version;',
  },
  {
    name: 'the receipt comes before the object',
    file: 'lake/publish/publish.ts',
    find: '  let version: number | undefined;\n',
    put: '  let version: number | undefined;\n  if (claim.table === undefined) await writeProof(ports, claim, sealed, { epoch: claim.epoch, version });\n',
  },
  {
    name: 'a commit that nobody has answered counts as done',
    file: 'lake/publish/publish.ts',
    find: 'if (await ports.store.publishedBy(upload, parts)) return;',
    put: 'if (error instanceof CommitUnknownError || (await ports.store.publishedBy(upload, parts))) return;',
  },
  {
    name: 'an upload replaces whatever is there',
    file: 'lake/claims/claim.ts',
    find: 'return this.#replaces.object;',
    put: 'return undefined;',
  },
  {
    name: 'a detail is left out',
    file: 'lake/publish/publish.ts',
    find: 'if (sealed.detail !== null) await',
    put: "if (sealed.detail === '') await",
  },
  {
    name: 'an entry leaves the file of before in the table',
    file: 'lake/publish/job-table.ts',
    find: 'const actions: Action[] = remove.map(',
    put: 'const actions: Action[] = remove.slice(1).map(',
    only: 'delta',
  },
  {
    name: 'a file goes as soon as it has left the table',
    file: 'lake/upkeep/table-garbage.ts',
    find: 'return goneMs !== undefined && goneMs >= nowMs - table.retentionNow().filesMs;',
    put: 'return goneMs !== undefined && goneMs > nowMs;',
    only: 'delta',
  },
  {
    name: 'an emptied day keeps its object',
    file: 'export/seal-day.ts',
    find: 'else if (claim.objectVersion) await parts.finish(emptyFooter());',
    put: '',
  },
  {
    name: 'a file of a table stays whatever has changed',
    file: 'export/seal-day.ts',
    find: 'if (parts.some(({ sha256 }, i) => sha256 !== object.parts[i]!.sha256)) return false;',
    put: 'if (parts.length > 0) return true;',
    only: 'delta',
  },
  {
    name: 'counts are not compared',
    file: 'export/source-answers.ts',
    find: 'if (compareCounts(ours, source.counts, options).length === 0) return source;',
    put: 'if (options) return source;',
  },
  {
    name: 'readings may go without a word',
    file: 'core/proof/shrink-guard.ts',
    find: "if (lost === '') return;",
    put: "if (lost !== '?') return;",
  },
  {
    name: 'files go by the clock of whoever cleans up',
    file: 'lake/upkeep/table-garbage.ts',
    find: 'const nowMs = await logTimeMs({ ...ports, prefix }, table.version);',
    put: 'const nowMs = ports.clock.nowMs();',
    only: 'upkeep',
  },
  {
    name: 'gc takes claims that have published and not said so',
    file: 'lake/upkeep/garbage.ts',
    find: 'if (sealed && (sealed.upload === null || (await store.publishedBy(sealed.upload, sealed.parts))))',
    put: 'if (sealed === undefined)',
    only: 'upkeep',
  },
  {
    name: 'a conversion leaves the claims of others',
    file: 'lake/upkeep/convert.ts',
    find: '  await endClaims(ports);\n',
    put: '',
    only: 'upkeep',
  },
  {
    name: 'a claim of a conversion cannot be read',
    file: 'lake/upkeep/convert.ts',
    find: "const NO_SETTINGS = 'convert';",
    put: "const NO_SETTINGS = '';",
    only: 'upkeep',
  },
];
