// @ts-check
/** What becomes of the view when an object cannot be read. */
import { fill, h } from '../parts/dom.js';
import { ReadError, ReplacedError } from './ranged-file.js';
import { counted, shown } from './texts.js';

/**
 * @param {HTMLElement} place where it is told
 * @param {Pick<import('./readings.js').ReadingsOptions, 'answer' | 'object' | 'onReplaced' | 'onSignInNeeded' | 'signal'>} options
 * @returns {<T>(work: () => Promise<T>) => Promise<T | undefined>} does some work; undefined: it went wrong, and that is seen to
 */
export function createTried(place, { answer, object, onReplaced, onSignInNeeded, signal }) {
  return async (work) => {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof ReplacedError) onReplaced();
      else if (error instanceof ReadError && error.status === 401) onSignInNeeded();
      else {
        const text = error instanceof Error ? error.message : 'unknown';
        const advice = `'vessel-export verify ${answer.job}' checks the object (${counted(object.sizeBytes)} bytes).`;
        fill(
          place,
          h('p', {}, `The readings cannot be shown: ${shown(text)}`),
          error instanceof ReadError ? null : h('p', { class: 'hint' }, advice),
        );
      }
      return undefined;
    }
  };
}
