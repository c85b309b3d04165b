/**
 * Puts the queue on hold for a fault that every vessel-day would meet, and lets it go on when a probe of service and lake
 * finds that it has passed. A folder or prefix may be closed to us and nothing else: so a probe comes first, and where it
 * succeeds the fault is the vessel-day's own.
 *
 * A process that met the fault itself takes no vessel-days before its own probe succeeds: with an old secret it stays quiet
 * while others, with the new one, go on. A hold that is lifted by hand lets all of them try at once.
 */
import { shareAnswer, succeeds } from '../core/concurrency.ts';
import { messageOf, type VesselExportError } from '../core/errors.ts';
import type { Clock, Log } from '../core/model/index.ts';
import { PAUSED, type QueueHold } from './queue/hold.ts';

export interface HoldWatchOptions {
  readonly hold: QueueHold;
  readonly clock: Clock;
  readonly log: Log;
  readonly host: string;
  /** Rejects while the fault lasts. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
  /** Stop taking vessel-days in this process, and begin again. */
  readonly pause: () => Promise<void>;
  readonly resume: () => Promise<void>;
  /** Between looks at the marker. */
  readonly pollMs?: number;
  /** Between probes: the first such delay, which doubles up to the second. */
  readonly probeMs?: readonly [first: number, longest: number];
}

export function createHoldWatch(options: HoldWatchOptions) {
  const { hold, clock, log, host, probe, pollMs = 5_000, probeMs = [5_000, 300_000] } = options;
  /** Codes of the faults that this process has met, and that the marker names. */
  let ownFault: string | undefined;
  let markedFault: string | undefined;
  let delayMs = probeMs[0];
  let nextProbeMs = Number.NEGATIVE_INFINITY;
  /** How often a hold was lifted by hand, as far as this process has seen. */
  let handLifts: number | undefined;
  const stop = new AbortController();
  /** For vessel-days that meet a fault at once: does the probe succeed? */
  const probeOnce = shareAnswer(clock, () => succeeds(probe(stop.signal)), 0);

  function probeLater(): void {
    nextProbeMs = clock.monotonicMs() + delayMs;
    delayMs = Math.min(delayMs * 2, probeMs[1]);
  }

  async function look(signal: AbortSignal): Promise<void> {
    const [marker, lifts] = [await hold.read(), await hold.handLifts()];
    const isLiftedByHand = handLifts !== undefined && lifts !== handLifts;
    if (isLiftedByHand && ownFault !== undefined) {
      await options.resume();
      log.info({ code: ownFault }, 'the hold was lifted by hand: trying again');
      ownFault = undefined;
    }
    handLifts = lifts;
    if (marker !== undefined && markedFault === undefined && ownFault === undefined)
      log.info({ code: marker.code, host: marker.host }, 'the queue is on hold');
    markedFault = marker?.code;
    // Who paused the queue without a reason lets it go on: there is no fault to be probed.
    const fault = ownFault ?? (markedFault === PAUSED ? undefined : markedFault);
    if (fault === undefined || clock.monotonicMs() < nextProbeMs) return;
    try {
      await probe(signal);
    } catch (error) {
      probeLater();
      log.debug({ error: messageOf(error), nextProbeMs: delayMs }, 'the fault lasts');
      return;
    }
    if (ownFault !== undefined) await options.resume();
    ownFault = undefined;
    if (!(await hold.lift())) return;
    markedFault = undefined;
    log.info({ code: marker?.code }, 'the fault has passed: the queue continues');
  }

  return {
    /** Probe, and stop this process and the queue if that fails too. False: the fault is the vessel-day's own. */
    async onFault(error: VesselExportError): Promise<boolean> {
      if (ownFault === undefined && (await probeOnce())) return false;
      // Nothing is known then, and the vessel-day goes back.
      if (stop.signal.aborted) return true;
      if (ownFault === undefined) {
        // Else a probe that succeeds and a vessel-day that fails again would follow each other every few seconds.
        probeLater();
        ownFault = error.code;
        await options.pause();
      }
      const { code, message } = error;
      if (await hold.place({ code, message, host, sinceMs: clock.nowMs() }))
        log.error({ code }, `the queue is on hold, no vessel-day is lost: ${message}`);
      return true;
    },
    /** A vessel-day was exported: the next fault is a new one, and probed soon. */
    onSuccess(): void {
      delayMs = probeMs[0];
    },
    /** Look until the signal is aborted. Never rejects. */
    async watch(signal: AbortSignal): Promise<void> {
      signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true });
      while (!signal.aborted) {
        await look(signal).catch((error: unknown) => {
          if (!signal.aborted)
            log.debug({ error: messageOf(error) }, 'cannot read whether the queue is on hold');
        });
        await clock.sleep(pollMs, signal).catch(() => {});
      }
    },
    /** Code of the fault that keeps this process from working, if any. */
    get code(): string | undefined {
      return ownFault ?? markedFault;
    },
  };
}
