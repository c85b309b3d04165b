/** Lives a history to its end, and asks every oracle. */
import { VesselExportError } from '../../src/core/errors.ts';
import type { VesselDay } from '../../src/core/model/index.ts';
import { damagesOf } from './damage.ts';
import type { Act, ActKind, History } from './history.ts';
import { OracleError, Oracles } from './oracles.ts';
import { JOB } from './process.ts';
import { pick, randomOf } from './random.ts';
import type { Content } from './reader.ts';
import { createWorld, fromSeed, type Trouble, type Watching, type World } from './world.ts';

const DAY_MS = 86_400_000;

export interface Lived {
  readonly digest: string;
  readonly events: number;
  /** Why the history failed. */
  readonly fault: string | undefined;
  readonly lines: readonly string[];
}

export async function live(history: History, watching: Watching = {}): Promise<Lived> {
  return await fromSeed(history.seed, async () => {
    const world = createWorld(history, watching);
    const oracles = new Oracles(world);
    let asked = 0;
    const askOracles = async () => {
      for (; asked < world.changes.length; asked++) await oracles.take(world.changes[asked]!);
    };
    const fault = await liveToEnd(world, oracles, askOracles, watching.crossings).catch(
      (error: Error) => error.message || `${error.stack}`,
    );
    const { lines, scheduler } = world;
    return { digest: world.digest(), events: scheduler.events, fault: fault ?? undefined, lines };
  });
}

async function liveToEnd(
  world: World,
  oracles: Oracles,
  askOracles: () => Promise<void>,
  crossings?: Watching['crossings'],
): Promise<void> {
  const { scheduler, ended, history } = world;
  await scheduler.run(() => false);
  await askOracles();
  const [isUnfit, isTable] = [history.abilities === 'no-put', history.layout === 'delta'];
  for (const { act, said, error } of ended) {
    const isRefused = [error, ...(said?.results ?? [])].some(isUnfitStore);
    if (isRefused && !(isUnfit && (isTable || act.kind === 'convert')))
      throw new OracleError(`${act.name} is refused: unfit-store`);
    if (error !== undefined && !(error instanceof VesselExportError))
      throw new OracleError(`${act.name} ends with an internal error: ${(error as Error).stack}`);
    for (const { code = '', message } of said?.results ?? [])
      if (code === 'internal-error' || code.startsWith('damaged'))
        throw new OracleError(`4: ${act.name} says ${code} of a sound lake: ${message}`);
  }
  if (ended.length + world.killed() < history.acts.length) throw new OracleError('7: a process hangs');
  if (isUnfit) await expectRefused(world, isTable ? ['run', 'convert'] : ['convert']);
  if (!isUnfit || !isTable) return await endCalmly(world, oracles, askOracles, crossings);
  const { key } = world.changes[0] ?? {};
  if (key !== undefined) throw new OracleError(`a lake that is refused has ${key}`);
}

const isUnfitStore = (said: unknown) => (said as { code?: string } | undefined)?.code === 'unfit-store';

/** A store that overwrites in spite of conditions is none for a table. */
async function expectRefused(world: World, kinds: readonly ActKind[]): Promise<void> {
  for (const kind of kinds) {
    const said = await world.calmly({ kind }).catch((error: unknown) => error);
    const { results = [said] } = said as { results?: readonly unknown[] };
    if (results.length === 0 || !results.every(isUnfitStore))
      throw new OracleError(`${kind} is not refused: expected unfit-store`);
  }
}

/** 7, 4, 8: with faults off all is published, agrees, and nothing is left over. */
async function endCalmly(
  world: World,
  oracles: Oracles,
  askOracles: () => Promise<void>,
  crossings?: Watching['crossings'],
): Promise<void> {
  const { history, source } = world;
  const days = history.vessels
    .filter((vessel) => isAnswered(world, vessel))
    .flatMap((vessel) => history.dates.map((date) => ({ vessel, date, name: `${vessel} ${date}` })));
  const expectAsSource = async (isSame: (lake: Content, truth: Content) => boolean) => {
    await askOracles();
    for (const { vessel, date, name } of days) {
      if (!oracles.receipts.has(name)) throw new OracleError(`7: ${name} is not published`);
      const [lake, truth] = [await oracles.contentOf(name), source.truths(vessel, date).at(-1)!];
      if (isSame(lake, truth)) continue;
      throw new OracleError(`7: ${name} has ${lake.lines.length} readings, the source ${truth.lines.length}`);
    }
  };
  // Nobody looks for two days, and then who cleans up comes first; some by a clock that is weeks ahead.
  await expectDamagesFound(world, oracles, crossings);
  const isCleaned = history.profile !== 'plain' && history.seed % 2 === 0;
  const gcAheadMs = history.profile !== 'plain' && history.seed % 3 === 0 ? 40 * DAY_MS : 0;
  if (isCleaned) {
    await world.wait(2 * DAY_MS);
    const { findings: before } = await world.calmly({ kind: 'verify' });
    await world.calmly({ kind: 'gc' }, gcAheadMs);
    const { findings: after } = await world.calmly({ kind: 'verify' });
    const lost = after.filter((finding) => !before.includes(finding));
    if (lost.length > 0) throw new OracleError(`8: after gc verify says ${lost.join(', ')}`);
  }
  await publishAll(world, oracles, askOracles);
  // It compares a day by its counts: what came and went in one series is the same number. And of a day that it finds
  // published meanwhile, by whoever died before saying so, it leaves the rest to the next look.
  const hasCounts = (lake: Content, truth: Content) => lake.lines.length === truth.lines.length;
  for (let look = 1; look <= 2; look++) {
    await world.calmly({ kind: 'reconcile', allowShrink: true });
    await expectAsSource(look === 1 ? () => true : hasCounts);
  }
  // As a person does about whatever is still noted.
  await world.calmly({ kind: 'run', force: true, allowShrink: true });
  await expectAsSource((lake, truth) => lake.digest === truth.digest);
  if (history.profile !== 'plain') {
    await world.wait(2 * DAY_MS);
    await world.calmly({ kind: 'gc' }, gcAheadMs);
  }
  // What a clock that was weeks ahead has dated stays so much longer.
  await world.wait(9 * DAY_MS + Math.max(gcAheadMs, ...history.acts.map(aheadAtMost)));
  await world.calmly({ kind: 'gc' });
  await askOracles();
  const { findings } = await world.calmly({ kind: 'verify' });
  if (findings.length > 0) throw new OracleError(`4: verify says ${findings.join(', ')}`);
  const isNoteOfOther = (key: string) =>
    key.startsWith('_notes/') && !days.some(({ vessel }) => key.includes(vessel));
  const left = (await world.leftovers(oracles.wanted())).filter((key) => !isNoteOfOther(key));
  if (left.length > 0) throw new OracleError(`8: gc leaves ${left.join(', ')}`);
}

/** 4: `verify` says nothing of what the history has left, and of a file that is damaged beside it just that. */
async function expectDamagesFound(
  world: World,
  oracles: Oracles,
  crossings: Watching['crossings'],
): Promise<void> {
  const { findings } = await world.calmly({ kind: 'verify' });
  if (findings.length > 0) throw new OracleError(`4: verify says of a sound lake ${findings.join(', ')}`);
  const damages = damagesOf(oracles, await world.uploads());
  if (damages.length === 0) return;
  const draw = randomOf(world.history.seed, 'damage');
  const beside = damages.filter((damage) => damage.beside !== 'nothing');
  const damage = pick(draw, beside.length > 0 && draw(3) > 0 ? beside : damages);
  const said = (await world.calmly({ kind: 'verify' }, 0, { damage })).findings;
  const isNamed = damage.names.some((name) => said[0] === `${name} ${damage.where}`);
  if (said.length !== 1 || !isNamed)
    throw new OracleError(
      `4: ${damage.kind}, beside ${damage.beside}: verify says ${said.join(', ') || 'nothing'}, expected ${damage.names.join(' or ')} ${damage.where}`,
    );
  const crossing = `${damage.kind} / ${damage.beside}` as const;
  crossings?.set(crossing, (crossings.get(crossing) ?? 0) + 1);
}

/** Whoever died is not heard of, or as of a time that is now: for six minutes at most, by clocks that may be five minutes apart. */
const MAX_HEARD_MS = 6 * 60_000 + 1_000;

async function publishAll(world: World, oracles: Oracles, askOracles: () => Promise<void>): Promise<void> {
  await world.wait(MAX_HEARD_MS);
  if (world.isConverting()) await world.calmly({ kind: 'convert' });
  await expectOthersPublished(world, oracles, askOracles);
  await publishIn(world, () => true, {});
}

/** 7: whatever is wrong with one vessel-day, or with the service's answers about one vessel, the others are published. */
async function expectOthersPublished(
  world: World,
  oracles: Oracles,
  askOracles: () => Promise<void>,
): Promise<void> {
  const { vessels, dates, seed } = world.history;
  const draw = randomOf(seed, 'trouble');
  const [vessel, date] = [pick(draw, vessels), pick(draw, dates)];
  const key = `_ledger/${JOB}/date=${date}/vessel=${vessel}.json`;
  const isVessel = vessels.length > 1 && draw(2) === 0;
  if (!isVessel && (!oracles.receipts.has(`${vessel} ${date}`) || vessels.length * dates.length === 1))
    return;
  const trouble = isVessel ? { vessel } : { damage: { key, bytes: Buffer.from('{') } };
  const isOther = (day: { readonly vessel: string; readonly date: string }) =>
    day.vessel !== vessel || (!isVessel && day.date !== date);
  await publishIn(world, isOther, trouble);
  await askOracles();
  for (const other of world.history.vessels.flatMap((one) => dates.map((on) => ({ vessel: one, date: on }))))
    if (
      isOther(other) &&
      isAnswered(world, other.vessel) &&
      !oracles.receipts.has(`${other.vessel} ${other.date}`)
    )
      throw new OracleError(`7: ${other.vessel} ${other.date} is not published, for ${vessel} is in trouble`);
}

/** Runs until the days are published; throws OracleError where one of them fails. */
async function publishIn(
  world: World,
  isMeant: (day: VesselDay) => boolean,
  trouble: Trouble,
): Promise<void> {
  for (let round = 0; round < 3; round++) {
    const { results } = await world.calmly({ kind: 'run', allowShrink: true }, 0, trouble);
    const meant = results.filter(({ day }) => isMeant(day) && isAnswered(world, day.vessel));
    const has = (state: string) => meant.some(({ status }) => status === state);
    const failed = meant.find(({ status }) => status === 'failed' || status === 'not-begun');
    if (failed) throw new OracleError(`7: ${failed.message}`);
    if (has('waiting')) await world.calmly({ kind: 'accept' });
    else if (has('running-elsewhere')) await world.wait(MAX_HEARD_MS);
    else return;
  }
}

/** Of a vessel of which the source has no series nothing is published. */
function isAnswered({ source }: World, vessel: string): boolean {
  return source.series.some((one) => one.vessel === vessel && one.isThere);
}

function aheadAtMost({ aheadMs, step }: Act): number {
  return Math.max(aheadMs, step?.aheadMs ?? 0);
}
