/** Defects to plant, one at a time: in a file of src a text that is there once, and what takes its place. */
import { FLEET_MUTANTS } from './fleet-mutants.ts';
import type { Profile } from './history.ts';

export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly put: string;
  /** What else is there to hold the same, and is to go with it. */
  readonly also?: { readonly find: string; readonly put: string };
  readonly only?: Profile | 'fleet';
  /** Why it changes nothing that anybody could see: no history is to find it. */
  readonly equivalent?: string;
}

/** Throws where there is no place, or more than one, to plant it. */
export function planted({ name, find, put, also }: Mutant, text: string): string {
  const edits = [{ find, put }, ...(also ? [also] : [])];
  return edits.reduce((edited, edit) => {
    if (edited.split(edit.find).length !== 2) throw new Error(`'${name}' has no one place: ${edit.find}`);
    return edited.replace(edit.find, () => edit.put);
  }, text);
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
  {
    name: 'a predecessor is not told that it is overtaken',
    file: 'lake/claims/claims.ts',
    find: 'const version = await ports.store.putIf(claim.key, jsonBytes(file), claim.version);',
    put: 'const version = claim.version;',
  },
  {
    name: 'a predecessor is inherited as it was listed, and not as it was fenced',
    file: 'lake/claims/claims.ts',
    find: 'claim = await readClaim(ports.store, claim);\n',
    put: "fenced.push({ ...claim, file, version: '', damage: undefined }); break;\n",
  },
  {
    name: 'an epoch that is over is published again',
    file: 'lake/claims/claims.ts',
    find: '(isEnded(file, receipt) ? [] : [file])',
    put: '[file]',
    equivalent:
      'what has ended an epoch is its own draft, so that it is published as it is; and had another published since, its receipt, which is read after the claim, fences us',
  },
  {
    name: 'a claim goes whoever has put it',
    file: 'lake/claims/claim.ts',
    find: 'if (await store.removeIf(claimKey(this.day, this.epoch), this.#version)) return true;',
    put: 'await store.remove(claimKey(this.day, this.epoch)); if (this.epoch > 0) return true;',
  },
  {
    name: "a predecessor's claim goes whoever's it is by then",
    file: 'lake/claims/claim.ts',
    find: 'for (const { key, version } of this.#older) await this.#ports.store.removeIf(key, version);',
    put: 'for (const { key } of this.#older) await this.#ports.store.remove(key);',
  },
  {
    name: 'what a predecessor has published is not said',
    file: 'lake/publish/publish.ts',
    find: 'if (!isPublished) return undefined;',
    put: 'if (!isPublished || claim) return undefined;',
  },
  {
    name: 'what a predecessor has found unchanged is not said',
    file: 'lake/publish/publish.ts',
    find: 'sealed.table === null || version !== undefined;',
    put: 'version !== undefined;',
  },
  {
    name: 'the receipt that the guard compares with was read before the claim',
    file: 'lake/claims/claims.ts',
    find: 'const receipt = await claim.lookAgain({ isNew });',
    put: 'await claim.lookAgain({ isNew }); const receipt = before;',
  },
  {
    name: 'an entry is put without a look at the claim',
    file: 'lake/publish/job-table.ts',
    find: 'if (member.seenAt >= version) return void standing.push(member);',
    put: 'if (member) return void standing.push({ ...member, seenAt: version });',
    only: 'delta',
  },
  {
    name: 'an entry is put over whatever is there',
    file: 'lake/table/table-log.ts',
    find: "if (!(await store.putIfAbsent(key, bytes))) return 'taken';",
    put: 'await store.put(key, bytes);',
    only: 'delta',
  },
  {
    name: 'the version after a fenced one is left free',
    file: 'lake/publish/job-table.ts',
    find: "if (found !== undefined || (await table.commit(table.version, 'FENCE', []))) return found;",
    put: 'if (round === 0) return found;',
    only: 'delta',
  },
  {
    name: 'files of attempts under way go',
    file: 'lake/upkeep/table-garbage.ts',
    find: 'for (const file of files) if ((await findClaims(ports.store, file.day)).length === 0) unclaimed.push(file);',
    put: 'unclaimed.push(...files);',
    also: {
      find: 'const isClaimed = (await findClaims(ports.store, day)).length > 0;',
      put: 'const isClaimed = false;',
    },
    only: 'upkeep',
  },
  {
    name: 'gc leaves the version free that a sleeper may still commit',
    file: 'lake/upkeep/table-garbage.ts',
    find: "  while (!(await table.commit(table.version, 'FENCE', [])));\n",
    put: '  while (table.version < 0);\n',
    only: 'upkeep',
  },
  {
    name: 'gc believes its list of files',
    file: 'lake/upkeep/table-garbage.ts',
    find: 'if (!(await removable).has(key)) return false;',
    put: 'if (removable === undefined) return false;',
    only: 'upkeep',
  },
  {
    name: 'the log is cleaned by the clock of whoever commits',
    file: 'lake/table/retention.ts',
    find: 'const beforeMs = Math.min(clock.nowMs(), entries.at(-1)?.modifiedMs ?? 0) - retentionMs;',
    put: 'const beforeMs = clock.nowMs() - retentionMs;',
    only: 'delta',
  },
  {
    name: 'the log is cleaned up to its newest checkpoint, however young',
    file: 'lake/table/retention.ts',
    find: 'oldEnough.has(version) && version <= (last?.version ?? 0)',
    put: 'version <= (last?.version ?? 0)',
    only: 'delta',
  },
  {
    name: 'a checkpoint forgets what has left the table',
    file: 'lake/table/checkpoint.ts',
    find: '...Array.from(tombstones.values(), (remove) => ({ remove: { ...remove, dataChange: false } })),',
    put: '...(tombstones.size < 0 ? [{ protocol: protocol! }] : []),',
    only: 'upkeep',
  },
  {
    name: 'an older checkpoint is named after a newer one',
    file: 'lake/table/checkpoint.ts',
    find: 'if (await isBelowCheckpoint(ports, last.version - 1)) return;',
    put: '',
    only: 'delta',
  },
  {
    name: 'a view that is below a checkpoint is believed',
    file: 'lake/table/table-view.ts',
    find: 'return (await isBelowCheckpoint(this.#ports, state.version)) ? undefined : found;',
    put: 'return found;',
    only: 'delta',
  },
  {
    name: 'an entry below the log counts as committed',
    file: 'lake/table/table-log.ts',
    find: "return (await isInLog(ports, version)) ? 'committed' : 'below';",
    put: "return 'committed';",
    only: 'delta',
  },
  {
    name: 'a conversion does not wait until every process knows',
    file: 'lake/upkeep/convert.ts',
    find: 'await ports.clock.sleep(LOOK_MS + MARGIN_MS, ports.signal);',
    put: '',
    only: 'upkeep',
  },
  {
    name: 'the layout is not looked at again under the claim',
    file: 'export/export-vessel-day.ts',
    find: 'const onClaimed = () => ports.layout.confirm(layout, day.job);',
    put: 'const onClaimed = async () => {};',
    only: 'upkeep',
  },
  {
    name: 'two conversions at once do not see each other',
    file: 'lake/upkeep/convert.ts',
    find: '      await expectOurs(store, own);\n      if (!(',
    put: '      if (!(',
    only: 'upkeep',
  },
  ...FLEET_MUTANTS,
];
