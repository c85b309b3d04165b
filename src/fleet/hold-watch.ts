/**
 * Puts the queue on hold for a fault that affects every vessel-day, and resumes it when a probe of service and lake succeeds.
 * A fault may affect a single folder or prefix only: so a probe comes first, and if it succeeds the fault concerns only the
 * vessel-day.
 *
 * A process that met the fault itself takes no vessel-days before its own probe succeeds: one with an old secret waits while
 * others, with the new one, continue. When a hold is lifted by hand, all of them try at once.
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
  /** Stop and resume taking vessel-days in this process. */
  readonly pause: () => Promise<void>;
  readonly resume: () => Promise<void>;
  /** Interval of reads of the hold. */
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
    // A queue that was paused without a reason has no fault to probe: whoever paused it resumes it.
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
      // The process is stopping, so nothing is known: the vessel-day is handed back.
      if (stop.signal.aborted) return true;
      if (ownFault === undefined) {
        // Otherwise a successful probe and a failing vessel-day would alternate every few seconds.
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
    /** Watch the hold until the signal is aborted. Never rejects. */
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
