/** Results of a check, as lines. */
import { countOf } from '../../core/model/index.ts';
import { CHECK_STATES, CHECK_SUBJECTS, type CheckResult, type CheckState } from '../check/result.ts';
import { type Colours, paint, type Style } from './screen.ts';

const SIGNS: Readonly<Record<CheckState, readonly [sign: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  failed: ['✗', 'red'],
  skipped: ['-', 'dim'],
};

export function formatChecks(results: readonly CheckResult[], colours: Colours): string {
  const width = Math.max(0, ...results.map(({ check }) => check.length));
  return CHECK_SUBJECTS.flatMap((subject) => {
    const ofSubject = results.filter((result) => result.subject === subject);
    if (ofSubject.length === 0) return [];
    const lines = ofSubject.map(({ check, state, message }) => {
      const [sign, style] = SIGNS[state];
      return `  ${paint(colours, style, sign)} ${check.padEnd(width)}  ${message}`;
    });
    return [paint(colours, 'bold', subject), ...lines];
  }).join('\n');
}

/** `14 ok, 1 warning, 2 failed` */
export function formatCheckTotals(totals: Readonly<Record<CheckState, number>>): string {
  const words: Readonly<Record<CheckState, (count: number) => string>> = {
    ok: (count) => `${count} ok`,
    warning: (count) => countOf(count, 'warning'),
    failed: (count) => `${count} failed`,
    skipped: (count) => `${count} skipped`,
  };
  return CHECK_STATES.filter((state) => totals[state] > 0)
    .map((state) => words[state](totals[state]))
    .join(', ');
}
