/** A vessel-day under way tells somebody what it does. */
import type { ExportPorts, ExportTask, Progress } from '../ports.ts';
import type { DayResult } from './perform-task.ts';
import { performTask } from './perform-task.ts';

/** Told of one vessel-day. */
export interface DayNews {
  /** A step of the export is done. */
  onStep(step: string): void;
  onProgress(progress: Progress): void;
  /** It only waits for a commit that others join. */
  onWaiting(): void;
  end(): void;
}

/** As `performTask`, and `news` is told, but for the end. */
export function performTold(
  ports: ExportPorts,
  task: ExportTask,
  signal: AbortSignal,
  news: DayNews,
): Promise<DayResult> {
  const toldPorts: ExportPorts = {
    ...ports,
    onStep(step) {
      news.onStep(step);
      return ports.onStep(step);
    },
  };
  const toldTask: ExportTask = {
    ...task,
    onProgress(progress) {
      news.onProgress(progress);
      task.onProgress?.(progress);
    },
    onWaiting() {
      news.onWaiting();
      task.onWaiting?.();
    },
  };
  return performTask(toldPorts, toldTask, signal);
}
