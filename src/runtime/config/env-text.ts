/** Settings as the text of a `.env`: understood alike by Node.js, by `docker compose`, and by shells. */
import { ConfigError } from '../../core/errors.ts';

/** What needs no quotes, whoever reads it. */
const PLAIN = /^[\w./:@%+,=~-]+$/;

/** A line `NAME=value`. Throws ConfigError `env-value` for a value that no quotes hold: it belongs into a file. */
export function envLine(name: string, value: string): string {
  if (PLAIN.test(value)) return `${name}=${value}`;
  // Within double quotes some replace '$' and '\'.
  const quote = ["'", '`'].find((one) => !value.includes(one));
  if (quote !== undefined && !/[\r\n]/.test(value)) return `${name}=${quote}${value}${quote}`;
  throw new ConfigError(
    'env-value',
    `${name}: its value has quotes or line ends that a .env cannot hold; put it into a file, and name that in ${name}_FILE`,
  );
}
