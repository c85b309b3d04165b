import { ConfigError, messageOf } from '../../core/errors.ts';
import { type Log, silentLog } from '../../core/model/ports.ts';
import { maskUrl, readWebAddress } from '../../core/model/web-address.ts';
import { type Environment, findSecret, followSecrets } from '../../core/process/secret-file.ts';

/** What opens an account: its key, or a shared access signature (the text of a query). */
export type AzureSecret = { readonly key: string } | { readonly sas: string };

/** How to reach a storage account. */
export interface AzureSettings {
  readonly account: string;
  /** `https://account.blob.core.windows.net`; that of an emulator has the account in its path. */
  readonly endpoint: string;
  /** A function where it may change. Undefined: an identity, found where Azure's SDK looks for it. */
  readonly secret?: AzureSecret | (() => AzureSecret);
  /** What every object is encrypted with that is written; absent: what the container or the account says. */
  readonly encryptionScope?: string;
  /** Tries of one call, the first included. A publishing call is always tried once. */
  readonly maxAttempts?: number;
}

/** Of the account that `abfss://…@account.dfs.core.windows.net` names. */
interface NamedAccount {
  readonly account: string;
  readonly endpoint: string;
}

/** At most one of them is set. */
const SECRETS = ['AZURE_STORAGE_CONNECTION_STRING', 'AZURE_STORAGE_KEY', 'AZURE_STORAGE_SAS_TOKEN'] as const;
const ACCOUNT = /^[a-z0-9]{3,24}$/;

/**
 * The settings of Azure's storage in an environment: `AZURE_STORAGE_ACCOUNT`, `AZURE_STORAGE_ENDPOINT`, one of
 * `AZURE_STORAGE_CONNECTION_STRING`, `AZURE_STORAGE_KEY` and `AZURE_STORAGE_SAS_TOKEN` (each also from the file that
 * `…_FILE` names, which is then followed), `AZURE_STORAGE_ENCRYPTION_SCOPE`. Throws ConfigError naming the variable.
 */
export function azureSettingsFromEnv(
  env: Environment,
  named: NamedAccount | undefined,
  log: Log = silentLog,
): AzureSettings {
  const first = readSecret(env);
  const account = named?.account ?? first?.account ?? env.AZURE_STORAGE_ACCOUNT;
  if (!account)
    throw fault(
      'LAKE_URL names no storage account: set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING, or write abfss://container@account.dfs.core.windows.net/prefix',
    );
  for (const [name, other] of [
    ['AZURE_STORAGE_ACCOUNT', env.AZURE_STORAGE_ACCOUNT],
    ['AZURE_STORAGE_CONNECTION_STRING', first?.account],
  ])
    if (other && other !== account)
      throw fault(`${name} names the account '${other}', expected '${account}'`);
  if (!ACCOUNT.test(account))
    throw fault(`'${account}' is no name of a storage account: expected 3 to 24 of a-z and 0-9`);
  const endpoint =
    endpointFromEnv(env) ?? first?.endpoint ?? named?.endpoint ?? `https://${account}.blob.core.windows.net`;
  const scope = env.AZURE_STORAGE_ENCRYPTION_SCOPE;
  return {
    ...{ account, endpoint: endpoint.replace(/\/$/, '') },
    ...(first !== undefined && { secret: followed(env, first.secret, log) }),
    ...(scope && { encryptionScope: scope }),
  };
}

function endpointFromEnv({ AZURE_STORAGE_ENDPOINT: value }: Environment): string | undefined {
  if (!value) return undefined;
  const url = readWebAddress(value);
  if (url !== undefined && url.username === '' && url.password === '' && url.search === '') return value;
  const found = `AZURE_STORAGE_ENDPOINT is ${JSON.stringify(maskUrl(value, true).replace(/\?.*/s, '?***'))}`;
  throw fault(`${found}: expected http(s)://host[:port][/account] without credentials`);
}

/** Where a signature or a token is sent, which opens the account to whoever reads it on its way: a key only signs. Undefined where none is, or where the settings do not tell. */
export function azureExposure(env: Environment, named: NamedAccount | undefined): string | undefined {
  try {
    const { endpoint, secret } = azureSettingsFromEnv(env, named);
    const found = typeof secret === 'function' ? secret() : secret;
    return found !== undefined && 'key' in found ? undefined : endpoint;
  } catch {
    // Whoever opens the store says what is wrong.
    return undefined;
  }
}

interface FoundSecret {
  readonly secret: AzureSecret;
  readonly account?: string;
  readonly endpoint?: string;
}

function readSecret(env: Environment): FoundSecret | undefined {
  const found = SECRETS.flatMap((name) => {
    const read = findSecret(name, env);
    if (read !== undefined && 'fault' in read) throw fault(read.fault);
    return read?.text ? [[name, read.text] as const] : [];
  });
  const [first, second] = found;
  if (first === undefined) return undefined;
  if (second !== undefined) throw fault(`${first[0]} and ${second[0]} are both set, expected one of them`);
  const [name, text] = first;
  if (name === 'AZURE_STORAGE_CONNECTION_STRING') return readConnectionString(text);
  return { secret: name === 'AZURE_STORAGE_KEY' ? keyOf(text, name) : sasOf(text, name) };
}

/** `Name=value;…`. That of the emulator, `UseDevelopmentStorage=true`, is no secret. */
function readConnectionString(text: string): FoundSecret {
  const name = 'AZURE_STORAGE_CONNECTION_STRING';
  const parts: Record<string, string> = {};
  for (const part of text.split(';')) {
    const at = part.indexOf('=');
    if (at > 0) parts[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  const { AccountName, AccountKey, SharedAccessSignature, BlobEndpoint, EndpointSuffix } = parts;
  const { DefaultEndpointsProtocol: protocol = 'https' } = parts;
  const account = AccountName ?? /^https:\/\/([a-z0-9]+)\.blob\./.exec(BlobEndpoint ?? '')?.[1];
  if (account === undefined)
    throw fault(
      `${name} names no account: expected AccountName=…;AccountKey=… or BlobEndpoint=…;SharedAccessSignature=…`,
    );
  const isAddress = BlobEndpoint === undefined || readWebAddress(BlobEndpoint) !== undefined;
  if (!isAddress || !/^https?$/.test(protocol))
    throw fault(`${name}: its BlobEndpoint is no http(s) address`);
  const endpoint = BlobEndpoint ?? `${protocol}://${account}.blob.${EndpointSuffix ?? 'core.windows.net'}`;
  if (AccountKey) return { secret: keyOf(AccountKey, name), account, endpoint };
  if (SharedAccessSignature) return { secret: sasOf(SharedAccessSignature, name), account, endpoint };
  throw fault(`${name} holds neither AccountKey nor SharedAccessSignature`);
}

function keyOf(text: string, name: string): AzureSecret {
  const key = text.trim();
  if (Buffer.from(key, 'base64').toString('base64') === key) return { key };
  throw fault(`${name}: its ${key.length} characters are no key of a storage account: expected base64`);
}

function sasOf(text: string, name: string): AzureSecret {
  const sas = text.trim().replace(/^\?/, '');
  if (new URLSearchParams(sas).has('sig')) return { sas };
  throw fault(`${name}: its ${sas.length} characters are no shared access signature: expected sv=…&…&sig=…`);
}

/** What a file holds is looked at again when it has changed; account and endpoint stay. */
function followed(env: Environment, first: AzureSecret, log: Log): AzureSecret | (() => AzureSecret) {
  if (!SECRETS.some((name) => env[`${name}_FILE`])) return first;
  const current = followSecrets(SECRETS, env, first, (last, now) => {
    try {
      const read = readSecret(now);
      if (read !== undefined) return { value: read.secret, faults: [] };
      return { value: last, faults: [`${SECRETS.map((name) => `${name}_FILE`).join(', ')}: it is empty`] };
    } catch (error) {
      return { value: last, faults: [messageOf(error)] };
    }
  });
  return () => current(log);
}

function fault(text: string): ConfigError {
  return new ConfigError('azure-settings', `${text}.`);
}
