/** How early this process collects its heap. */
import { setFlagsFromString } from 'node:v8';

let wishes = 0;

/**
 * Collects the old generation when it has doubled, not when it is four times as large, until the returned function is called. For what reads gigabytes
 * and keeps little: reconciling a thousand vessels takes 230 MB so, not 400 MB, and a fifth more time.
 */
export function collectEarly(): () => void {
  if (wishes++ === 0) setFlagsFromString('--heap-growing-percent=100');
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    if (--wishes === 0) setFlagsFromString('--heap-growing-percent=0');
  };
}
