import type { PutObjectCommandInput, ServerSideEncryption } from '@aws-sdk/client-s3';
import { ConfigError, messageOf } from '../../core/errors.ts';
import { type Log, silentLog } from '../../core/model/ports.ts';
import { isInClear, maskUrl, readWebAddress } from '../../core/model/web-address.ts';
import { type Environment, findSecret, followSecrets } from '../../core/process/secret-file.ts';

interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** How to reach a bucket. What is left out is looked up where the AWS SDK looks for it, or has a default. */
export interface S3Settings {
  /** `http(s)://host:port` of a store other than Amazon's; buckets are then addressed by path. */
  readonly endpoint?: string;
  readonly region?: string;
  /** A function where they may change. */
  readonly credentials?: S3Credentials | (() => S3Credentials);
  /** Tries of one call, the first included (default 8). A completing call is always tried once. */
  readonly maxAttempts?: number;
  /** What is said of each object that is written; what is absent is as the bucket says. */
  readonly newObjects?: NewObjects;
}

/** `SSEKMSKeyId`: key of the key management service (id, ARN or alias); absent: the bucket's, or Amazon's own. */
export type NewObjects = Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'>;

/**
 * The AWS settings in an environment: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_REGION`,
 * `AWS_DEFAULT_REGION`, `AWS_ACCESS_KEY_ID` with its companions (each also from the file that `…_FILE`
 * names, which is then followed), `AWS_MAX_ATTEMPTS`. Throws ConfigError naming the variable. `S3_SSE` with
 * `S3_SSE_KMS_KEY_ID` are settings of ours, and are checked with the others.
 */
export function s3SettingsFromEnv(env: Environment, log: Log = silentLog): S3Settings {
  const endpoint = endpointFromEnv(env);
  // A store behind an endpoint of its own rarely has regions, but every signature names one.
  const region =
    env.AWS_REGION || env.AWS_DEFAULT_REGION || (endpoint === undefined ? undefined : 'us-east-1');
  const credentials = credentialsFromEnv(env, log);
  const maxAttempts = maxAttemptsFromEnv(env);
  const newObjects: NewObjects = {
    ...(env.S3_SSE && { ServerSideEncryption: env.S3_SSE as ServerSideEncryption }),
    ...(env.S3_SSE_KMS_KEY_ID && { SSEKMSKeyId: env.S3_SSE_KMS_KEY_ID }),
  };
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    ...(credentials !== undefined && { credentials }),
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(Object.keys(newObjects).length > 0 && { newObjects }),
  };
}

/** The variable that holds the endpoint, and its text. */
export function s3Endpoint(env: Environment): { readonly name: string; readonly value: string } | undefined {
  if (env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === 'true') return undefined;
  const name = env.AWS_ENDPOINT_URL_S3 ? 'AWS_ENDPOINT_URL_S3' : 'AWS_ENDPOINT_URL';
  const value = env[name];
  return value ? { name, value } : undefined;
}

function endpointFromEnv(env: Environment): string | undefined {
  const { name, value } = s3Endpoint(env) ?? {};
  if (value === undefined) return undefined;
  const url = readWebAddress(value);
  if (url !== undefined && url.username === '' && url.password === '') return value;
  const found = `${name} is ${JSON.stringify(maskUrl(value, true))}`;
  throw new ConfigError('aws-endpoint', `${found}: expected http(s)://host[:port] without credentials.`);
}

/** The order is that of S3Credentials. They belong together: a new one opens nothing beside old ones. */
const CREDENTIALS = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const;

/** Undefined where the SDK's own search (profile, single sign-on, role of the instance) decides. */
function credentialsFromEnv(env: Environment, log: Log): S3Settings['credentials'] {
  const first = env.AWS_PROFILE ? undefined : readCredentials(env);
  if (first === undefined || !CREDENTIALS.some((name) => env[`${name}_FILE`])) return first;
  const current = followSecrets(CREDENTIALS, env, first, (last, now) => {
    // A pipe among them is not read again.
    if (CREDENTIALS.some((name) => env[`${name}_FILE`] !== now[`${name}_FILE`]))
      return { value: last, faults: [] };
    try {
      const read = readCredentials(now);
      const isWhole =
        read !== undefined &&
        !(read.accessKeyId === last.accessKeyId && last.sessionToken && !read.sessionToken);
      // The settings were looked at before there was one; the secret key only signs.
      if (read?.sessionToken && !last.sessionToken && isEndpointInClear(env)) {
        const fault = 'AWS_SESSION_TOKEN_FILE: a session token would go over the network in clear';
        return { value: last, faults: [`${fault}; expected an https endpoint, or a start with the token`] };
      }
      const fault = `${CREDENTIALS.map((name) => `${name}_FILE`).join(', ')}: one of them is empty`;
      return isWhole ? { value: read, faults: [] } : { value: last, faults: [fault] };
    } catch (error) {
      return { value: last, faults: [messageOf(error)] };
    }
  });
  return () => current(log);
}

function isEndpointInClear(env: Environment): boolean {
  const url = readWebAddress(s3Endpoint(env)?.value ?? 'https://s3.amazonaws.com');
  return url !== undefined && isInClear(url, env.NODE_TLS_REJECT_UNAUTHORIZED !== '0');
}

function readCredentials(env: Environment): S3Credentials | undefined {
  const [accessKeyId, secretAccessKey, sessionToken] = CREDENTIALS.map((name) => {
    const found = findSecret(name, env);
    if (found !== undefined && 'fault' in found) throw new ConfigError('aws-credentials', `${found.fault}.`);
    return found?.text;
  });
  if (!accessKeyId || !secretAccessKey) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

function maxAttemptsFromEnv({ AWS_MAX_ATTEMPTS: value }: Environment): number | undefined {
  if (!value) return undefined;
  if (/^[1-9]\d?$/.test(value)) return Number(value);
  const found = `AWS_MAX_ATTEMPTS is ${JSON.stringify(value)}`;
  throw new ConfigError('aws-max-attempts', `${found}: expected 1 to 99.`);
}
