/**
 * An address that may be shown: the password of a URL becomes `***`, its query and fragment become `…`
 * (they may carry signatures and tokens). Text that is no URL only loses what looks like a password.
 */
export function redactUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return text.replace(/\/\/.*@/s, '//***@').replace(/[?#].*$/s, '?…');
  }
  if (url.username !== '' || url.password !== '') {
    url.password = '';
    url.username = '***';
  }
  const rest = url.search !== '' || url.hash !== '' ? '?…' : '';
  url.search = '';
  url.hash = '';
  return `${url.href}${rest}`;
}
