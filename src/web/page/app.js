// @ts-check
/** The page: who may look, what the address names, and the view of it. */
import { ApiError, createApi } from './api.js';
import { openBar } from './parts/bar.js';
import { fill, h } from './parts/dom.js';
import { signInForm, takeSignInTrouble } from './parts/sign-in.js';
import { trouble } from './parts/trouble.js';
import { followAddresses, viewAt } from './router.js';

/** By the first level of the address; a view is loaded when it is first shown. */
const VIEWS = {
  coverage: async () => (await import('./coverage/view.js')).coverageView,
  day: async () => (await import('./day/view.js')).dayView,
  fleet: async () => (await import('./fleet/view.js')).fleetView,
};

/** @type {import('../answers.ts').SessionAnswer | undefined} */
let session;
/** @type {import('../answers.ts').AboutAnswer | undefined} */
let about;
/** Of what is shown now. */
let leaving = new AbortController();
let hasShown = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
const LOADING_AFTER_MS = 150;
/** Of the provider, from where somebody comes back. */
const signInTrouble = takeSignInTrouble();

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const announcer = /** @type {HTMLElement} */ (document.getElementById('announcer'));
const api = createApi(() => {
  session = undefined;
  void show();
});
const drawBar = openBar(/** @type {HTMLElement} */ (document.getElementById('bar')), api, (answer) => {
  session = answer;
  announce(answer.user === null ? 'Signed out' : `Signed in as ${answer.user.name}`);
  void show();
});
const navigate = followAddresses(() => void show());
void show();

/** What the address names, from the start; a view that is shown is left. */
async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const { pathname } = location;
  const draw = () => drawBar({ session, about, pathname, signInTrouble });
  draw();
  // What was shown is left, and must not seem to be what comes.
  clearTimeout(waiting);
  waiting = setTimeout(() => fill(main, h('p', { class: 'hint' }, 'Loading …')), LOADING_AFTER_MS);
  try {
    /** @type {import('../answers.ts').SessionAnswer} */
    const asking = session ?? (await api.get('/api/session', { signal }));
    if (signal.aborted) return;
    session = asking;
    draw();
    if (!asking.mayRead) return askWho(asking);
    /** @type {import('../answers.ts').AboutAnswer} */
    const lake = about ?? (await api.get('/api/about', { signal }));
    if (signal.aborted) return;
    about = lake;
    draw();
    const first = lake.jobs[0]?.name;
    if (pathname === '/' && first !== undefined)
      return navigate(`/coverage/${encodeURIComponent(first)}`, { replace: true });
    if (pathname === '/fleet' && !lake.hasFleet)
      throw new ApiError(404, 'no-fleet', 'This page is served from a lake alone, without a fleet.');
    const found = await viewAt(VIEWS, pathname);
    if (signal.aborted) return;
    if (found === undefined)
      throw new ApiError(404, 'not-found', pathname === '/' ? 'There is no job.' : 'There is no such view.');
    const root = frame(found.view.title(found.params));
    const context = { session: asking, api, navigate, announce, signal };
    const query = new URLSearchParams(location.search);
    await found.view.mount(root, { ...context, params: found.params, query });
  } catch (error) {
    if (signal.aborted) return;
    const { title, content } = trouble(error, () => {
      // What could not be loaded is not asked for again by the same document.
      if (error instanceof ApiError && error.code === 'not-loaded') return location.reload();
      session = undefined;
      about = undefined;
      void show();
    });
    frame(title).append(content);
    if (!(error instanceof ApiError)) throw error;
  }
}

/** @param {import('../answers.ts').SessionAnswer} asked */
function askWho(asked) {
  // What it says is for those who may read.
  about = undefined;
  drawBar({ session, about, pathname: location.pathname, signInTrouble: undefined });
  const form = signInForm(api, asked, (answer) => {
    session = answer;
    void show();
  });
  const root = frame('Sign in');
  if (signInTrouble !== undefined) root.append(h('p', { class: 'fault', role: 'alert' }, signInTrouble));
  root.append(form);
  /** @type {HTMLElement | null} */ (form.querySelector('input, a'))?.focus();
}

/**
 * A heading and what stands below it. Who follows a link is taken to the heading; who opens the page starts at its top.
 * @param {string} title
 */
function frame(title) {
  clearTimeout(waiting);
  const heading = h('h1', { tabindex: '-1' }, title);
  const root = h('div', { class: 'view' });
  fill(main, heading, root);
  document.title = `${title} · vessel-export`;
  if (hasShown) heading.focus();
  hasShown = true;
  return root;
}

/** @param {string} text */
function announce(text) {
  // The same text twice is told twice.
  fill(announcer);
  setTimeout(() => fill(announcer, text), 50);
}
