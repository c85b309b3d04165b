/** How early this process collects its heap. */
import { setFlagsFromString } from 'node:v8';

let wishes = 0;

/**
 * For code that reads gigabytes and keeps little of it: the old generation is collected when it has doubled, not when it is
 * four times as large, until what this gives is called. A reconcile of a thousand vessels takes 230 MB so, and 400 MB
 * without; and a fifth more time. A scheduler that has planned two nights of ten thousand vessels has 370 MB, and 450
 * MB without.
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
