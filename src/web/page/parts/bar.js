// @ts-check
import { fill, h } from './dom.js';
import { signInForm } from './sign-in.js';

/**
 * The top of every view: where one can go, colours, and who is signed in.
 * @typedef {object} BarState
 * @property {import('../../answers.ts').SessionAnswer | undefined} session
 * @property {import('../../answers.ts').AboutAnswer | undefined} about
 * @property {string} pathname
 * @property {string | undefined} signInTrouble
 * @param {HTMLElement} bar
 * @param {import('../view.d.ts').Api} api
 * @param {(session: import('../../answers.ts').SessionAnswer) => void} onSession
 * @returns {(state: BarState) => void}
 */
export function openBar(bar, api, onSession) {
  const home = h('a', { href: '/', class: 'home' }, 'vessel-export');
  const lake = h('span', { class: 'lake' });
  const nav = h('nav', { 'aria-label': 'Views' });
  const person = h('span', { class: 'person' });
  fill(bar, home, nav, lake, themeChoice(), person);

  const dialog = /** @type {HTMLDialogElement} */ (h('dialog', { 'aria-labelledby': 'sign-in-title' }));
  document.body.append(dialog);
  /** @param {import('../../answers.ts').SessionAnswer} asked */
  const signIn = (asked) => {
    const form = signInForm(api, asked, (session) => {
      dialog.close();
      onSession(session);
    });
    const cancel = h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel');
    form.append(cancel);
    fill(dialog, h('h2', { id: 'sign-in-title' }, 'Sign in'), form);
    dialog.showModal();
  };
  const signOut = async () => {
    onSession(await api.post('/api/session/end', {}));
  };
  const endAll = async () => {
    const { confirmed } = await import('../acts/confirm.js');
    const question = {
      title: 'End all sessions?',
      lines: ['All users, including you, must sign in again.'],
      yes: 'End all sessions',
      no: 'Leave them',
    };
    if (!(await confirmed(question, new AbortController().signal))) return;
    await api.post('/api/acts', { act: 'end-all-sessions' });
    onSession(await api.get('/api/session'));
  };

  return ({ session, about, pathname, signInTrouble }) => {
    const [, , job] = pathname.split('/');
    const jobs = about?.jobs ?? [];
    fill(
      nav,
      ...jobs.map(({ name }) =>
        link(`/coverage/${encodeURIComponent(name)}`, name, encodeURIComponent(name) === job),
      ),
      about?.hasFleet && link('/fleet', 'Fleet', pathname === '/fleet'),
    );
    fill(lake, about && `${about.lakeUrl}`);
    lake.title = about === undefined ? '' : `${about.layout} lake, vessel-export ${about.version}`;
    fill(
      person,
      session?.mayRead &&
        !session.user &&
        signInTrouble !== undefined &&
        h('span', { class: 'fault', role: 'alert' }, signInTrouble),
      session?.user && h('span', { class: 'name' }, session.user.name, session.mayAct ? '' : ' (looks only)'),
      session?.mayAct && h('button', { type: 'button', onclick: endAll }, 'End all sessions…'),
      session?.canSignOut && h('button', { type: 'button', onclick: signOut }, 'Sign out'),
      session?.mayRead &&
        (session.canSignIn || session.providerUrl !== null) &&
        !session.user &&
        h('button', { type: 'button', onclick: () => signIn(session) }, 'Sign in'),
    );
  };
}

/** @param {string} href @param {string} text @param {boolean} isHere */
function link(href, text, isHere) {
  return h('a', { href, 'aria-current': isHere ? 'page' : undefined }, text);
}

function themeChoice() {
  const chosen = document.documentElement.dataset.themeChosen;
  const options = [
    ['system', 'As the system'],
    ['light', 'Light'],
    ['dark', 'Dark'],
  ].map(([value = '', text]) => h('option', { value, selected: value === chosen }, text));
  const choose = (/** @type {Event} */ event) => {
    const { value } = /** @type {HTMLSelectElement} */ (event.target);
    document.dispatchEvent(new CustomEvent('themechosen', { detail: value }));
  };
  return h('select', { class: 'theme', 'aria-label': 'Colours', onchange: choose }, ...options);
}
