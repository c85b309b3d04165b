import { OTHER_FIELDS } from '../../core/model/index.ts';

/**
 * Domain → the name that a series has in it, of every domain that has an `id`, whether the contract knows it or not: of
 * `domains_json`, or of the metadata that it is made of. Versions before 2026-09-10 map a domain to the name alone.
 */
export function namesByDomain(domainsJson: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [domain, entry] of Object.entries(parsed(domainsJson))) {
    const id = typeof entry === 'object' && entry !== null ? (entry as { id?: unknown }).id : entry;
    if (domain !== OTHER_FIELDS && domain !== 'id' && typeof id === 'string') names.set(domain, id);
  }
  return names;
}

/** A lake may have been written by anybody: what is no object has no names. */
function parsed(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
