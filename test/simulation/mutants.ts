/** Defects to plant, one at a time: in a file of src a text that is there once, and what takes its place. */
import type { Profile } from './history.ts';

export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly put: string;
  readonly only?: Profile | 'fleet';
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
    name: 'a notice is marked as told before it is sent',
    file: 'fleet/notify/notices.ts',
    find: 'if (message.id !== arrivedId) await webhook.send(message, signal);',
    put: 'await write({ noticesVersion: 1, told }, found); await webhook.send(message, signal);',
    only: 'fleet',
  },
  {
    name: 'what was told of a cause is forgotten with its next news',
    file: 'fleet/notify/cause-changes.ts',
    find: 'members: [...before, ...fresh].slice(0, MAX_MEMBERS),',
    put: 'members: fresh.length > 0 ? fresh : before,',
    only: 'fleet',
  },
  {
    name: 'a vessel-day leaves the queue before its receipt is there',
    file: 'fleet/queue/vessel-day-worker.ts',
    find: 'await perform(job.data, signal, died < MAX_HANDED_ON ? undefined : workersDied(job.data, died), leave);',
    put: 'void perform(job.data, signal, undefined, leave).catch(() => {});',
    only: 'fleet',
  },
  {
    name: 'a look-back goes by a clock that does not tell the day',
    file: 'fleet/look-backs.ts',
    find: 'const to = microsToDate(firing.lookedMs * 1_000);',
    put: 'const to = microsToDate(clock.monotonicMs() * 1_000);',
    only: 'fleet',
  },
  {
    name: 'a try that somebody asks for is swallowed by the one that has failed',
    file: 'fleet/try-again.ts',
    find: "  if (!(await queue.remove(day))) return 'under-way';\n",
    put: '',
    only: 'fleet',
  },
  {
    name: 'a backfill ends while its vessel-days wait',
    file: 'fleet/backfills.ts',
    find: 'const finished = left === 0 && waiting === 0 && !isBehind;',
    put: 'const finished = left === 0;',
    only: 'fleet',
  },
  {
    name: 'a note is dated by a clock that is behind that of the receipt',
    file: 'lake/notes.ts',
    find: 'return now < finishedAt ? finishedAt : now;',
    put: 'return now;',
    only: 'fleet',
  },
  {
    name: 'a look-back counts as done although it has failed',
    file: 'fleet/look-backs.ts',
    find: 'if (!either.aborted) fail(firing.job.name, error);',
    put: 'void state.setPlannedFiringMs("reconcile", firing.job.name, firing.firingMs);',
    only: 'fleet',
  },
  {
    name: 'who has paused an export for a fault of all never goes on',
    file: 'fleet/hold-watch.ts',
    find: 'if (ownFault !== undefined) await options.resume();\n    ownFault = undefined;\n    if (!(await hold.lift())) return;',
    put: 'ownFault = undefined;\n    if (!(await hold.lift())) return;',
    only: 'fleet',
  },
  {
    name: 'of two that tell each writes over what the other was about to',
    file: 'fleet/notify/notices.ts',
    find: 'const version = await store.putIf(NOTICES_KEY, jsonBytes(notices), before);',
    put: 'const now = (await store.get(NOTICES_KEY))?.version ?? before; const version = await store.putIf(NOTICES_KEY, jsonBytes(notices), now);',
    only: 'fleet',
  },
  {
    name: 'vessel-days that a clock ahead has delayed stay so',
    file: 'fleet/scheduler.ts',
    find: 'const vesselDays = await options.queue.bringBack();',
    put: 'const vesselDays = 0;',
    only: 'fleet',
  },
];
