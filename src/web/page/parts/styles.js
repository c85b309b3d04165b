// @ts-check
/** Styles of a view: asked for when it is first shown, and there before it draws. */

/**
 * @param {string | URL} url of a stylesheet of ours
 * @returns {Promise<void>} also where it cannot be had: a view without its styles is still a view
 */
export function loadStyles(url) {
  const href = new URL(url, location.origin).href;
  const links = [...document.head.querySelectorAll('link')];
  if (links.some((link) => link.href === href && link.sheet !== null)) return Promise.resolve();
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = href;
  return new Promise((resolve) => {
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () => {
      link.remove();
      resolve();
    });
    document.head.append(link);
  });
}
