/** DuckDB's errors in our words: what is wrong with the query, what with the machine, what with the lake. */
import { ConfigError, DataError, FatalError, messageOf, VesselExportError } from '../../core/errors.ts';

/** `views`: what could have been asked. */
export function queryError(error: unknown, views: readonly string[]): unknown {
  if (error instanceof VesselExportError) return error;
  // The place of the fault stands below, with a sign under it.
  const message = messageOf(error);
  const [kind] = /^[A-Z][A-Za-z ]+ Error/.exec(message) ?? [];
  if (kind === 'Out of Memory Error')
    return new FatalError('out-of-memory', `${message}; ask for fewer days, series or columns`);
  if (kind === 'Catalog Error' && /Table with name/.test(message))
    return new ConfigError('sql', `${message}\nThere are: ${views.join(', ')}.`);
  if (kind === 'Permission Error')
    return new ConfigError('sql', `${message}\nA query reads the lake's views and nothing else.`);
  if (kind === 'IO Error' || kind === 'HTTP Error') return new DataError('unreadable-object', message);
  if (kind !== undefined) return new ConfigError('sql', message);
  return error;
}
