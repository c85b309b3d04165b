// @ts-check
/**
 * Addresses of the page. They are kept as paths: with a name and a password in the address, a whole one without them would
 * be another document's, which the history does not take.
 * @typedef {import('./view.d.ts').View} View
 */
import { ApiError } from './api.js';

/**
 * @param {Readonly<Record<string, () => Promise<View>>>} views by the first level of their addresses
 * @param {string} pathname
 * @returns {Promise<{ view: View, params: Record<string, string> } | undefined>} Throws ApiError `not-loaded`.
 */
export async function viewAt(views, pathname) {
  const name = pathname.split('/')[1] ?? '';
  const load = Object.hasOwn(views, name) ? views[name] : undefined;
  const view = await load?.().catch(() => {
    throw new ApiError(0, 'not-loaded', 'this view could not be loaded');
  });
  const match = view?.path.exec(pathname) ?? null;
  if (view === undefined || match === null) return undefined;
  try {
    const groups = Object.entries(match.groups ?? {}).filter(([, text]) => text !== undefined);
    const params = groups.map(([key, text]) => [key, decodeURIComponent(text)]);
    return { view, params: Object.fromEntries(params) };
  } catch {
    // A stray '%'.
    return undefined;
  }
}

/**
 * Follow links within the page, and steps back and forward.
 * @param {() => void} show shows what the address names
 * @returns {(url: string, options?: { readonly replace?: boolean }) => void} goes to another address
 */
export function followAddresses(show) {
  let shown = `${location.pathname}${location.search}`;
  const go = () => {
    shown = `${location.pathname}${location.search}`;
    show();
  };
  /** @type {ReturnType<typeof followAddresses>} */
  const navigate = (url, { replace = false } = {}) => {
    const { pathname, search, hash } = new URL(
      url,
      `${location.origin}${location.pathname}${location.search}`,
    );
    const isSamePath = pathname === location.pathname;
    if (replace) history.replaceState(null, '', `${pathname}${search}${hash}`);
    else history.pushState(null, '', `${pathname}${search}${hash}`);
    if (replace && isSamePath) shown = `${pathname}${search}`;
    else go();
  };
  addEventListener('popstate', () => {
    // Within the page: the skip link.
    if (shown !== `${location.pathname}${location.search}`) go();
  });
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented) return;
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const href = link.getAttribute('href') ?? '';
    if (link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
    if (href.startsWith('#') || link.pathname.startsWith('/api/')) return;
    event.preventDefault();
    navigate(`${link.pathname}${link.search}${link.hash}`);
  });
  return navigate;
}
