import { fileURLToPath } from 'node:url';
import { ConfigError } from '../errors.ts';
import { faultOfKey } from './key.ts';
import { createLocalStore } from './local.ts';
import { s3SettingsFromEnv } from './s3-settings.ts';
import type { ObjectStore } from './store.ts';

/** Where a lake is: a folder, or a bucket with a prefix ('' for none). */
export type LakeLocation =
  | { readonly kind: 'local'; readonly rootDir: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

const S3_URL = /^s3:\/\/([^/?#]*)(?:\/([^?#]*))?$/;
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
const EXPECTED = 'expected file:///path/to/lake or s3://bucket/prefix';

/**
 * Open the store that `lakeUrl` names. AWS settings come from `env`, and beyond it from where the AWS SDK looks
 * (profiles, instance roles). The SDK is loaded for S3 only. Throws ConfigError naming the setting.
 */
export async function openStore(lakeUrl: string, env: NodeJS.ProcessEnv): Promise<ObjectStore> {
  const location = parseLakeUrl(lakeUrl);
  if (location.kind === 'local') return createLocalStore(location.rootDir);
  const settings = s3SettingsFromEnv(env);
  const { createS3Store } = await import('./s3.ts');
  return createS3Store({ ...settings, bucket: location.bucket, prefix: location.prefix });
}

/** What a `LAKE_URL` says. Throws ConfigError (`lake-url`) naming the setting, what was found and expected. */
export function parseLakeUrl(lakeUrl: string): LakeLocation {
  if (lakeUrl.startsWith('s3:')) return parseS3Url(lakeUrl);
  if (lakeUrl.startsWith('file:///')) return parseFileUrl(lakeUrl);
  throw wrongUrl(lakeUrl, EXPECTED);
}

function parseFileUrl(lakeUrl: string): LakeLocation {
  if (/[?#]/.test(lakeUrl))
    throw wrongUrl(lakeUrl, `a file URL has no '?' or '#' (write %3F or %23); ${EXPECTED}`);
  try {
    return { kind: 'local', rootDir: fileURLToPath(lakeUrl) };
  } catch {
    throw wrongUrl(lakeUrl, EXPECTED);
  }
}

function parseS3Url(lakeUrl: string): LakeLocation {
  const match = S3_URL.exec(lakeUrl);
  if (match === null) throw wrongUrl(lakeUrl, EXPECTED);
  const [, bucket = '', path = ''] = match;
  if (/[@:]/.test(bucket)) {
    const rule = `credentials and ports do not belong in it (use AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL_S3); ${EXPECTED}`;
    throw wrongUrl('s3://***', rule);
  }
  if (!BUCKET.test(bucket)) throw wrongUrl(lakeUrl, `'${bucket}' is not a bucket name; ${EXPECTED}`);
  const prefix = path.replace(/\/$/, '');
  const fault = prefix === '' ? undefined : faultOfKey(prefix);
  if (fault !== undefined) throw wrongUrl(lakeUrl, `its prefix cannot be used: ${fault}; ${EXPECTED}`);
  return { kind: 's3', bucket, prefix };
}

function wrongUrl(lakeUrl: string, rule: string): ConfigError {
  const shown = JSON.stringify(lakeUrl.replace(/\/\/.*@/, '//***@'));
  return new ConfigError('lake-url', `LAKE_URL is ${shown}: ${rule}.`);
}
