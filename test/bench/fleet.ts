/** What planning for a fleet takes: backfills and nights against an exporter that takes no time, and a lake of tables. */
import { measureScript } from './child.ts';
import type { Voice } from './figures.ts';
import { measureTable } from './table.ts';

/** Scripts of their own, which say more. */
const FAR: readonly (readonly [script: string, args: readonly string[], what: string])[] = [
  ['far-backfill.ts', ['1000', '100'], 'a backfill of 100,000 vessel-days, half of them done'],
  ['far-nights.ts', [], 'nights of 10,000 vessels and 30 days'],
  ['far-backfill.ts', [], 'a backfill of 1,000 vessels and ten years, half of it done'],
];

export async function measureFleet(dir: string, signal: AbortSignal, voice: Voice): Promise<void> {
  await measureTable(dir, signal, voice);
  for (const [script, args, what] of FAR) {
    voice.progress(what);
    const { stdout } = await measureScript(new URL(script, import.meta.url), args, {}, signal);
    voice.say(`\n${what}: ${stdout.trim()}`);
  }
}
