// @ts-check
/**
 * Addresses of the page. They are kept as paths: with a name and a password in the address, a whole one without them would
 * be another document's, which the history does not take.
 * @typedef {import('./view.d.ts').View} View
 */

/** @param {readonly View[]} views @param {string} pathname @returns {{ view: View, params: Record<string, string> } | undefined} */
export function viewAt(views, pathname) {
  for (const view of views) {
    const match = view.path.exec(pathname);
    if (match === null) continue;
    try {
      const groups = Object.entries(match.groups ?? {}).filter(([, text]) => text !== undefined);
      return {
        view,
        params: Object.fromEntries(groups.map(([name, text]) => [name, decodeURIComponent(text)])),
      };
    } catch {
      // A stray '%'.
      return undefined;
    }
  }
  return undefined;
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
