import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ConfigError, messageOf } from '../core/errors.ts';
import { type Log, silentLog } from '../core/model/ports.ts';
import { maskUrl } from '../core/model/web-address.ts';
import { faultOfKey } from './key.ts';
import { createLocalStore } from './local/local.ts';
import { s3SettingsFromEnv } from './s3/settings.ts';
import type { ObjectStore } from './store.ts';

/** Where a lake is: a folder, or a bucket with a prefix ('' for none). */
type LakeLocation =
  | { readonly kind: 'local'; readonly rootDir: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

const S3_URL = /^s3:\/\/([^/?#]*)(?:\/([^?#]*))?$/;
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
export const LAKE_URL_RULE = 'file:///path or s3://bucket/prefix';

/**
 * Open the store that `lakeUrl` names. AWS settings come from `env`, and beyond it from where the AWS SDK looks
 * (profiles, instance roles). The SDK is loaded for S3 only. Throws ConfigError naming the setting.
 */
export async function openStore(
  lakeUrl: string,
  env: NodeJS.ProcessEnv,
  log: Log = silentLog,
): Promise<ObjectStore> {
  const location = parseLakeUrl(lakeUrl);
  if (location.kind === 'local') return createLocalStore(location.rootDir);
  const settings = s3SettingsFromEnv(env, log);
  const { createS3Store } = await import('./s3/s3.ts');
  return createS3Store({ ...settings, bucket: location.bucket, prefix: location.prefix });
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
  const fault = prefix === '' ? undefined : faultOfKey(prefix);
  return fault === undefined
    ? { kind: 's3', bucket, prefix }
    : { advice: `its prefix cannot be used: ${fault}` };
}
