// @ts-check
/**
 * What somebody has chosen to see, as the query of the address says it: each view has a link. Defaults are left out.
 * What the address says wrongly counts as not said, except dates: the server answers for those.
 */
import { BY_STATE } from '../parts/states.js';

/**
 * @typedef {'year' | 'month' | 'days'} ZoomName
 * @typedef {object} Settings
 * @property {string | null} from date; null: as the server chooses
 * @property {string | null} to exclusive
 * @property {ZoomName | number} zoom a number is the width of a day in pixels
 * @property {readonly string[]} states those looked at; none: all
 * @property {'hide' | 'dim'} others what becomes of vessels that have no such day
 * @property {string} text to be found in a vessel's name, or in a code or message of its troubles
 * @property {boolean} troubleOnly
 * @property {'name' | 'trouble' | 'gap'} sort
 * @property {'map' | 'table'} as
 * @property {string | null} vessel of the chosen cell
 * @property {string | null} date of the chosen cell
 * @property {string | null} top vessel of the first row in sight
 * @property {string | null} left first date in sight
 */

export const SMALLEST_DAY_PX = 1;
export const LARGEST_DAY_PX = 48;
const MAX_TEXT_CHARS = 200;

/** @param {URLSearchParams} query @returns {Settings} */
export function settingsOf(query) {
  const zoom = query.get('zoom') ?? 'year';
  const px = Number(zoom);
  const sort = query.get('sort');
  return {
    from: query.get('from'),
    to: query.get('to'),
    zoom:
      zoom === 'month' || zoom === 'days'
        ? zoom
        : px >= SMALLEST_DAY_PX && px <= LARGEST_DAY_PX
          ? px
          : 'year',
    states: (query.get('state') ?? '').split(',').filter((state) => BY_STATE.has(state)),
    others: query.get('others') === 'dim' ? 'dim' : 'hide',
    text: (query.get('q') ?? '').slice(0, MAX_TEXT_CHARS),
    troubleOnly: query.get('trouble') === '1',
    sort: sort === 'trouble' || sort === 'gap' ? sort : 'name',
    as: query.get('as') === 'table' ? 'table' : 'map',
    vessel: query.get('vessel'),
    date: query.get('date'),
    top: query.get('top'),
    left: query.get('left'),
  };
}

/** @param {Settings} settings @returns {string} with its `?`, or nothing where all is as by default */
function queryOf(settings) {
  const query = new URLSearchParams();
  /** @param {string} name @param {string | null | false} value */
  const say = (name, value) => {
    if (value) query.set(name, value);
  };
  say('from', settings.from);
  say('to', settings.to);
  say('zoom', settings.zoom !== 'year' && String(settings.zoom));
  say('state', settings.states.join(','));
  say('others', settings.others === 'dim' && 'dim');
  say('q', settings.text);
  say('trouble', settings.troubleOnly && '1');
  say('sort', settings.sort !== 'name' && settings.sort);
  say('as', settings.as === 'table' && 'table');
  say('vessel', settings.vessel);
  say('date', settings.date);
  say('top', settings.top);
  say('left', settings.left);
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** @param {string} job @param {Settings} settings @returns {string} */
export function coverageAddress(job, settings) {
  return `/coverage/${encodeURIComponent(job)}${queryOf(settings)}`;
}

/**
 * The same view of other days or of another job: a place in the old one means nothing there.
 * @param {Settings} settings @param {string | null} from @param {string | null} to @returns {Settings}
 */
export function ofOtherDays(settings, from, to) {
  return { ...settings, from, to, date: null, left: null };
}

const SETTLED_MS = 200;

/** @param {{ write: () => void, signal: AbortSignal }} of */
export function keepAddress({ write, signal }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const flush = () => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    if (!signal.aborted) write();
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  return {
    change() {
      clearTimeout(timer);
      timer = setTimeout(flush, SETTLED_MS);
    },
    /** Now: something is about to leave this view. */
    flush,
  };
}
