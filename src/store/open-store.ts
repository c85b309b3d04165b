import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ConfigError, messageOf } from '../core/errors.ts';
import { type Log, silentLog } from '../core/model/ports.ts';
import { maskUrl } from '../core/model/web-address.ts';
import { azureSettingsFromEnv } from './azure/settings.ts';
import { faultOfKey } from './key.ts';
import { createLocalStore } from './local/local.ts';
import { s3SettingsFromEnv } from './s3/settings.ts';
import type { ObjectStore } from './store.ts';

/** Where a lake is: a folder, or a bucket or container with a prefix ('' for none). */
type LakeLocation =
  | { readonly kind: 'local'; readonly rootDir: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }
  | {
      readonly kind: 'azure';
      readonly container: string;
      readonly prefix: string;
      /** Of `abfss://`; else the settings name it. */
      readonly named?: { readonly account: string; readonly endpoint: string };
    };

const AZ_URL = /^az:\/\/([^/?#]*)(?:\/([^?#]*))?$/;
const ABFSS_URL = /^abfss:\/\/([^/?#@]*)@([a-z0-9]{3,24})\.dfs\.([a-z0-9.-]+)(?:\/([^?#]*))?$/;
const CONTAINER = /^(\$root|[a-z0-9](-?[a-z0-9]){2,62})$/;
const S3_URL = /^s3:\/\/([^/?#]*)(?:\/([^?#]*))?$/;
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
export const LAKE_URL_RULE =
  'file:///path, s3://bucket/prefix, az://container/prefix or abfss://container@account.dfs.core.windows.net/prefix';
/** Those of Azure's SDK, which only its lakes need. */
const AZURE_PACKAGES = '@azure/storage-blob@12 @azure/identity@4';

/**
 * Open the store that `lakeUrl` names. AWS and Azure settings come from `env`, and beyond it from where their SDKs look
 * (profiles, roles, identities). An SDK is loaded for its own stores only. `maxAttempts`: tries of
 * a call, for whoever wants to know now. Throws ConfigError naming the setting.
 */
export async function openStore(
  lakeUrl: string,
  env: NodeJS.ProcessEnv,
  log: Log = silentLog,
  maxAttempts?: number,
): Promise<ObjectStore> {
  const location = parseLakeUrl(lakeUrl);
  if (location.kind === 'local') return createLocalStore(location.rootDir);
  if (location.kind === 'azure') {
    const settings = azureSettingsFromEnv(env, location.named, log);
    const { createAzureStore } = await import('./azure/azure.ts').catch(throwMissingPackage);
    const { container, prefix } = location;
    const identity =
      settings.secret === undefined && (await import('@azure/identity').catch(throwMissingPackage));
    const credential = identity && { identity: new identity.DefaultAzureCredential() };
    const url = lakeUrl.replace(/\/$/, '');
    const tries = maxAttempts && { maxAttempts };
    return createAzureStore({ ...settings, container, prefix, url, ...credential, ...tries });
  }
  const settings = { ...s3SettingsFromEnv(env, log), ...(maxAttempts && { maxAttempts }) };
  const { createS3Store } = await import('./s3/s3.ts');
  return createS3Store({ ...settings, bucket: location.bucket, prefix: location.prefix });
}

function throwMissingPackage(error: unknown): never {
  const { code } = error as NodeJS.ErrnoException;
  const [, name] = /'(@azure\/[a-z-]+)'/.exec(messageOf(error)) ?? [];
  if (code !== 'ERR_MODULE_NOT_FOUND' || name === undefined) throw error;
  const found = `LAKE_URL is of Azure, and the package ${name} is not installed`;
  throw new ConfigError('missing-package', `${found}: npm install ${AZURE_PACKAGES}`);
}

/** What a `LAKE_URL` says. Throws ConfigError (`lake-url`) naming the setting, what was found and expected. */
export function parseLakeUrl(lakeUrl: string): LakeLocation {
  const read = readLakeUrl(lakeUrl);
  if (!('advice' in read)) return read;
  const shown = JSON.stringify(maskUrl(lakeUrl, true));
  throw new ConfigError('lake-url', `LAKE_URL is ${shown}: expected ${LAKE_URL_RULE}; ${read.advice}.`);
}

/** What a `LAKE_URL` says, or what to write instead. */
export function readLakeUrl(lakeUrl: string): LakeLocation | { readonly advice: string } {
  if (lakeUrl.startsWith('s3:')) return readS3Url(lakeUrl);
  if (/^(az|abfss?):/.test(lakeUrl)) return readAzureUrl(lakeUrl);
  if (lakeUrl.startsWith('file:///')) return readFileUrl(lakeUrl);
  // A folder without the scheme, or with too few slashes.
  const path = lakeUrl.replace(/^file:(\/\/)?/, '');
  if (/^[a-z][a-z0-9+.-]*:|@/i.test(path)) return { advice: 'there is no store for other addresses' };
  return { advice: `for that folder write ${pathToFileURL(resolve(path)).href}` };
}

function readFileUrl(lakeUrl: string): LakeLocation | { advice: string } {
  if (/[?#]/.test(lakeUrl)) return { advice: "a file URL has no '?' or '#': write %3F or %23" };
  try {
    return { kind: 'local', rootDir: fileURLToPath(lakeUrl) };
  } catch (error) {
    return { advice: messageOf(error) };
  }
}

function readS3Url(lakeUrl: string): LakeLocation | { advice: string } {
  const match = S3_URL.exec(lakeUrl);
  if (match === null) return { advice: 'write it as s3://, a bucket, a slash and a prefix' };
  const [, bucket = '', path = ''] = match;
  if (/[@:]/.test(bucket)) {
    return {
      advice:
        'credentials and ports do not belong in it: use AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL_S3',
    };
  }
  if (bucket === '') return { advice: 'the name of the bucket is missing' };
  if (!BUCKET.test(bucket)) return { advice: `'${bucket}' is not a bucket name` };
  const prefix = path.replace(/\/$/, '');
  const fault = faultOfPrefix(prefix);
  return fault === undefined ? { kind: 's3', bucket, prefix } : { advice: fault };
}

function readAzureUrl(lakeUrl: string): LakeLocation | { advice: string } {
  if (lakeUrl.includes('?'))
    return { advice: 'a signature does not belong in it: use AZURE_STORAGE_SAS_TOKEN' };
  const [, container, path] = AZ_URL.exec(lakeUrl) ?? [];
  const [, itsContainer, account, suffix, itsPath] = ABFSS_URL.exec(lakeUrl) ?? [];
  const found = container ?? itsContainer;
  if (found === undefined || (container !== undefined && /[@:]/.test(container)))
    return {
      advice:
        'write it as az://, a container, a slash and a prefix (the account is AZURE_STORAGE_ACCOUNT), or as abfss://container@account.dfs.core.windows.net/prefix',
    };
  if (!CONTAINER.test(found)) return { advice: `'${found}' is not a name of a container` };
  const prefix = (path ?? itsPath ?? '').replace(/\/$/, '');
  const fault = faultOfPrefix(prefix);
  if (fault !== undefined) return { advice: fault };
  const endpoint = `https://${account}.blob.${suffix}`;
  const named = account === undefined ? {} : { named: { account, endpoint } };
  return { kind: 'azure', container: found, prefix, ...named };
}

function faultOfPrefix(prefix: string): string | undefined {
  const fault = prefix === '' ? undefined : faultOfKey(prefix);
  return fault === undefined ? undefined : `its prefix cannot be used: ${fault}`;
}
