// @ts-check
/**
 * Light or dark before anything is drawn, so it is no module: `data-theme` of the root says which. As the system has it,
 * unless something was chosen in the bar (event `themechosen`, kept in this browser). What draws on a canvas draws anew
 * at the event `themechange` of the document.
 */
(() => {
  const KEY = 'vessel-export-theme';
  const isDark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = 'system';
  try {
    chosen = localStorage.getItem(KEY) ?? 'system';
  } catch {
    // A browser that keeps nothing: the choice holds for this visit.
  }

  function apply() {
    const theme = /^(light|dark)$/.test(chosen) ? chosen : isDark.matches ? 'dark' : 'light';
    const root = document.documentElement;
    root.dataset.themeChosen = chosen;
    if (root.dataset.theme === theme) return;
    root.dataset.theme = theme;
    document.dispatchEvent(new Event('themechange'));
  }

  apply();
  isDark.addEventListener('change', apply);
  addEventListener('storage', ({ key, newValue }) => {
    if (key !== KEY) return;
    chosen = newValue ?? 'system';
    apply();
  });
  document.addEventListener('themechosen', (event) => {
    chosen = /** @type {CustomEvent<string>} */ (event).detail;
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // As above.
    }
    apply();
  });
})();
