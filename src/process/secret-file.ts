/** A setting that may come from a file: the one place that reads what `<NAME>_FILE` names. */
import { readFileSync, statSync } from 'node:fs';
import { messageOf } from '../errors.ts';

type FoundText =
  /** `text` is '' where the file is empty. */
  | { readonly text: string; readonly origin: 'environment' | `file ${string}` }
  | { readonly fault: string; readonly origin: 'environment' | `file ${string}` };

/** No secret is longer; who names a larger file means another. */
const MAX_SECRET_BYTES = 65_536;

/**
 * What `name` is in an environment, or in the file that `<name>_FILE` names, without the end of its last line. Undefined
 * where neither is set, or is empty. A fault names the variable and the file, and never what is in it.
 */
export function findSecret(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): FoundText | undefined {
  const text = env[name] || undefined;
  const path = env[`${name}_FILE`] || undefined;
  if (text !== undefined && path !== undefined) {
    return { fault: `${name} and ${name}_FILE: both are set, expected one of them`, origin: 'environment' };
  }
  if (path === undefined) return text === undefined ? undefined : { text, origin: 'environment' };
  const origin = `file ${path}` as const;
  try {
    const { size } = statSync(path);
    if (size > MAX_SECRET_BYTES) {
      const expected = `expected a secret of at most ${MAX_SECRET_BYTES}`;
      return { fault: `${name}_FILE: '${path}' has ${size} bytes, ${expected}`, origin };
    }
    return { text: readFileSync(path, 'utf8').replace(/\r?\n$/, ''), origin };
  } catch (error) {
    return { fault: `${name}_FILE: cannot read '${path}': ${adviceOn(error)}`, origin };
  }
}

function adviceOn(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EACCES') return `permission denied; uid ${process.getuid?.()} must be allowed to read it`;
  if (code === 'EISDIR')
    return 'it is a folder, expected a file (Docker makes a folder where the file to mount is not there)';
  if (code === 'ENOENT') return 'there is no such file';
  return messageOf(error);
}
