/** A history as lines that a person reads. */
import type { Act, History } from './history.ts';

export function tellHistory(history: History): string[] {
  const { layout, vessels, dates, abilities, store, service, log, sizes, acts, changes } = history;
  const rates = (faults: object) =>
    Object.entries(faults).flatMap(([kind, rate]) => (rate > 0 ? [`${rate} ${kind}`] : []));
  const trouble = [...rates(store), ...rates(service)].join(', ');
  return [
    `A ${layout} lake of ${vessels.length} vessel${vessels.length > 1 ? 's' : ''}, ${dates.join(', ')};`,
    `  row groups of ${sizes.rowGroupRows} rows, parts of ${sizes.partBytes} bytes.`,
    ...(abilities === 'all' ? [] : [`Its store lacks conditions: ${abilities}.`]),
    ...(trouble === '' ? [] : [`Of 100 requests: ${trouble}.`]),
    ...(log
      ? [
          `A checkpoint every ${log.checkpointVersions} versions; entries are kept for ${spanOf(log.entriesMs)}.`,
        ]
      : []),
    ...changes.map(
      ({ atMs, kind, date }) =>
        `After ${spanOf(atMs)} at the source: a reading or series of ${date} ${kind}.`,
    ),
    ...acts.map(tellAct),
  ];
}

function tellAct({ name, atMs, aheadMs, step, killAfter, pauseAfter, stop, ...options }: Act): string {
  const isSet = ['force', 'allowShrink', 'takeover'] as const;
  const said = [
    ...isSet.filter((option) => options[option]).map((option) => `--${option}`),
    ...(options.select === 1 ? ['another select'] : []),
    ...(aheadMs === 0 ? [] : [clockText(aheadMs)]),
    ...(step ? [`after ${spanOf(step.atMs)} ${clockText(step.aheadMs)}`] : []),
    ...(killAfter ? [`dies at its request ${killAfter}`] : []),
    ...(pauseAfter ? [`sleeps ${spanOf(pauseAfter.forMs)} at its request ${pauseAfter.asked}`] : []),
  ];
  if (stop) {
    const fate = stop.forMs === undefined ? 'dies' : `sleeps ${spanOf(stop.forMs)}`;
    const when = stop.isSent ? 'its request being on its way' : 'before it asks';
    said.push(`${fate} as it ${stop.step} (time ${stop.nth}), ${when}`);
  }
  return `After ${spanOf(atMs)} ${name}${said.length > 0 ? `: ${said.join('; ')}` : ''}.`;
}

function clockText(aheadMs: number): string {
  return `its clock ${spanOf(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'behind'}`;
}

/** `3 s`, `20 min`, `26 h`, `40 days`. */
export function spanOf(ms: number): string {
  if (ms < 120_000) return `${Number((ms / 1_000).toFixed(ms < 10_000 ? 1 : 0))} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} days`;
}

/** Of a request to the service: what it asks for, without how. */
export function shortRequest(what: string): string {
  const [path = '', query = ''] = what.split('?');
  const day = /from=([^&]*)&to=([^&]*)/.exec(decodeURIComponent(query));
  const window = /window=(\w+)/.exec(query);
  return `${path}${day ? ` from ${day[1]!.slice(0, 16)} to ${day[2]!.slice(0, 16)}` : ''}${window ? ` by ${window[1]}` : ''}`;
}
