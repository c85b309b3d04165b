/** The target of a request as path and query, however it is written. */

const ABSOLUTE = /^https?:\/\/[^/?#]+/i;

/**
 * A target in absolute form (`http://host/path?query`), as proxies send it, without scheme and host; any other as
 * it is. Nothing is decoded or resolved: levels of a path stay what they are.
 */
export function originForm(target: string): string {
  const prefix = ABSOLUTE.exec(target)?.[0];
  if (prefix === undefined || !URL.canParse(prefix)) return target;
  const rest = target.slice(prefix.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}
