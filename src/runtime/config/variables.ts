/** The environment variables as one table: of each its kind of value, what it means, and its default. */
import { availableParallelism, tmpdir } from 'node:os';
import { z } from 'zod';
import { API_VERSIONS, LAYOUTS } from '../../core/model/index.ts';
import { isRedisUrl, REDIS_URL_RULE } from '../../core/model/web-address.ts';
import { LAKE_URL_RULE, readLakeUrl } from '../../store/open-store.ts';
import type { Variable } from './variable.ts';
import * as v from './variable.ts';

const LAKE_URL = {
  ...v.kind(
    LAKE_URL_RULE,
    z.string().refine((text) => !('advice' in readLakeUrl(text))),
  ),
  advice: (text: string) => {
    const read = readLakeUrl(text);
    return 'advice' in read ? read.advice : undefined;
  },
};
const REDIS_URL = {
  ...v.kind(REDIS_URL_RULE, z.string().refine(isRedisUrl)),
  advice: (text: string) => (text.includes('%') ? "a '%' in a password is written %25" : undefined),
};
const SCOPES = v.kind(
  'scopes separated by spaces, openid among them',
  z.string().refine((text) => text.split(' ').includes('openid')),
);
const S3_SSE = v.oneOf(['AES256', 'aws:kms', 'aws:kms:dsse']);
/** As OpenTelemetry names them. */
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'];
const ATTRIBUTES = z.string().regex(/^[^=,]+=[^,]*(,[^=,]+=[^,]*)*$/);
const SHARE = z.string().regex(/^(0(\.\d+)?|1(\.0+)?)$/);
const FOLDER = z.string().min(1);

const TABLE = {
  QUERY_BASE_URL: v.needed(
    v.serviceUrl('https://api.example.com/my-tenant'),
    "the query service's address with its tenant segment",
  ),
  QUERY_AUTH_URL: v.needed(
    v.serviceUrl('https://auth.example.com'),
    'where access tokens are obtained (/oauth2/token is added)',
  ),
  QUERY_CLIENT_ID: v.needed(v.NOT_EMPTY, 'client id'),
  QUERY_CLIENT_SECRET: { ...v.needed(v.NOT_EMPTY, 'client secret'), secret: true, fromFile: true },
  QUERY_API_VERSION: v.preset(v.oneOf(API_VERSIONS), '2026-09-10', 'version of the API'),
  QUERY_MAX_CONCURRENCY: v.preset(v.POSITIVE, '4', 'concurrency limit: requests in flight'),
  QUERY_MAX_REQUESTS_PER_MINUTE: v.preset(v.COUNT, '0', 'rate limit: requests per minute (0: none)'),
  QUERY_PACE_GROUP: v.preset(
    v.REDIS_NAME,
    'all',
    'who shares the rate limit through Redis: everyone with the same name',
  ),
  QUERY_ALLOW_HTTP: v.preset(
    v.HOSTS,
    '0',
    'hosts that secrets may be sent to in clear: without TLS, or without a check of certificates (1: any)',
  ),
  LAKE_URL: v.needed(LAKE_URL, 'where the lake is'),
  LAKE_LAYOUT: v.optional(
    v.oneOf(LAYOUTS),
    'layout of a new lake: plain Parquet files, or a Delta table for each job (not set: the layout that the lake has; plain for a new one)',
  ),
  S3_SSE: v.optional(S3_SSE, 'how an S3 store encrypts new objects (not set: by the rule of the bucket)'),
  S3_SSE_KMS_KEY_ID: v.optional(
    v.NOT_EMPTY,
    'key of the key management service for aws:kms: its id, ARN or alias (not set: the key of the bucket)',
  ),
  AZURE_STORAGE_ACCOUNT: v.optional(
    v.NOT_EMPTY,
    'storage account of az://container/prefix (not set: that of the connection string)',
  ),
  AZURE_STORAGE_CONNECTION_STRING: v.secret(
    v.NOT_EMPTY,
    'what opens the storage account: this, a key or a signature (none set: an identity, as DefaultAzureCredential finds it)',
  ),
  AZURE_STORAGE_KEY: v.secret(v.NOT_EMPTY, 'key of the storage account'),
  AZURE_STORAGE_SAS_TOKEN: v.secret(v.NOT_EMPTY, 'shared access signature for the container'),
  AZURE_STORAGE_ENDPOINT: v.optional(
    v.NOT_EMPTY,
    "address of the storage account's blobs (not set: https://ACCOUNT.blob.core.windows.net)",
  ),
  AZURE_STORAGE_ENCRYPTION_SCOPE: v.optional(
    v.NOT_EMPTY,
    'encryption scope of new objects on Azure, with a key of yours or of Microsoft (not set: by the rule of the container)',
  ),
  REDIS_URL: {
    ...v.optional(
      REDIS_URL,
      'Redis, through which all processes share the concurrency limit and the rate limit (not set: each has its own)',
    ),
    fromFile: true,
  },
  REDIS_PASSWORD: v.secret(v.NOT_EMPTY, 'password for Redis, if REDIS_URL has none'),
  REDIS_PREFIX: v.preset(v.REDIS_NAME, 'vessel-export', 'prefix of every key in Redis'),
  WORKER_CONCURRENCY: v.preset(
    v.POSITIVE,
    () => String(availableParallelism() * 2),
    'vessel-days that a process exports at once',
  ),
  HTTP_HOST: v.preset(
    v.kind('a host name or an address', z.string().regex(/^[\w.:-]+$/)),
    '127.0.0.1',
    'address on which schedule and worker serve health, metrics and the page',
  ),
  HTTP_PORT: v.preset(v.PORT, '9464', 'port for health, metrics and the page (0: a free one)'),
  PUBLIC_URL: v.optional(v.ORIGIN, 'address at which users open the page'),
  TRUSTED_PROXY: v.optional(
    v.NETWORKS,
    'proxies in front of HTTP_PORT whose X-Forwarded-For and WEB_USER_HEADER are trusted',
  ),
  WEB_READ_PASSWORD: v.secret(
    v.atLeastChars(12, ', or not set: open if HTTP_HOST is a loopback address, otherwise not served'),
    'password to view the page',
  ),
  WEB_ACT_PASSWORD: v.secret(
    v.atLeastChars(12, ' and not WEB_READ_PASSWORD, or not set: no actions with a password'),
    'password to view the page and to act on it',
  ),
  WEB_USER_HEADER: v.optional(
    v.headerName('X-Forwarded-User'),
    'header in which a proxy of TRUSTED_PROXY names the user',
  ),
  WEB_GROUPS_HEADER: v.optional(
    v.headerName('X-Forwarded-Groups'),
    "header in which it names the user's groups, separated by commas",
  ),
  WEB_OIDC_ISSUER: v.optional(
    v.webUrl(', as the provider calls itself', true),
    'OpenID provider at which users sign in',
  ),
  WEB_OIDC_CLIENT_ID: v.optional(
    v.NOT_EMPTY,
    'client id at the provider; its redirect URI is PUBLIC_URL/api/session/provider/return',
  ),
  WEB_OIDC_CLIENT_SECRET: v.secret(v.atLeastChars(12), 'client secret at the provider'),
  WEB_OIDC_SCOPE: v.preset(SCOPES, 'openid profile email', 'scopes that are requested from the provider'),
  WEB_OIDC_NAME_CLAIM: v.preset(
    v.claimName(),
    'preferred_username',
    'claim with the name of the signed-in user, for the log',
  ),
  WEB_OIDC_GROUPS_CLAIM: v.preset(
    v.claimName(': a text or a list of them'),
    'groups',
    'claim with the groups that are compared with WEB_READ_GROUPS and WEB_ACT_GROUPS',
  ),
  WEB_READ_GROUPS: v.optional(
    v.groupNames('all of them'),
    'groups, from provider or proxy, that may view the page',
  ),
  WEB_ACT_GROUPS: v.optional(
    v.groupNames('none of them'),
    'groups, from provider or proxy, that may view the page and act on it',
  ),
  NOTIFY_URL: v.secret(
    v.webUrl(', or not set: no messages'),
    'address to which the scheduler sends a message when something goes wrong, and when it is resolved',
  ),
  NOTIFY_SECRET: v.secret(
    v.atLeastChars(16, ', or not set: not signed'),
    'key that signs these messages (HMAC-SHA256)',
  ),
  NOTIFY_FORMAT: v.preset(
    v.kind('json or text', z.enum(['json', 'text'])),
    'json',
    'format of these messages: all facts, or only the text that chats show',
  ),
  NOTIFY_NIGHT_BY: v.preset(v.TIME_OF_DAY, '12:00', 'UTC time by which the previous day must be in the lake'),
  NOTIFY_LATE_DAYS: v.preset(
    v.COUNT,
    '20',
    'vessel-days with late data that a look-back may find without a message',
  ),
  // Names and meanings are OpenTelemetry's.
  OTEL_EXPORTER_OTLP_ENDPOINT: v.optional(
    v.webUrl(' such as http://collector:4318, or not set: nothing is traced'),
    'collector that receives traces, by OTLP over http/protobuf (/v1/traces is added)',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: v.optional(
    v.webUrl(' such as http://collector:4318/v1/traces'),
    'the same as a complete address, to which nothing is added',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: v.secret(v.HEADERS, 'headers that are sent with traces, such as a key'),
  OTEL_SERVICE_NAME: v.optional(v.NOT_EMPTY, 'name of these processes in traces (not set: vessel-export)'),
  OTEL_RESOURCE_ATTRIBUTES: v.optional(
    v.kind('name=value, several with commas between', ATTRIBUTES),
    'further attributes of these processes in traces',
  ),
  OTEL_TRACES_SAMPLER: v.optional(
    v.oneOf([...SAMPLERS, ...SAMPLERS.map((name) => `parentbased_${name}`)]),
    'which vessel-days are traced (not set: all, or as the parent trace decided)',
  ),
  OTEL_TRACES_SAMPLER_ARG: v.optional(
    v.kind('a number from 0 to 1', SHARE),
    'share of vessel-days that traceidratio traces',
  ),
  OTEL_SDK_DISABLED: v.preset(v.FLAG, '0', '1 turns traces off, whatever else is set'),
  // Names and meanings are OpenLineage's.
  OPENLINEAGE_URL: v.optional(
    v.webUrl(' such as http://marquez:5000, or not set: no events'),
    'server that receives lineage events of vessel-days (OPENLINEAGE_ENDPOINT is added)',
  ),
  OPENLINEAGE_ENDPOINT: v.preset(v.NOT_EMPTY, 'api/v1/lineage', 'path of that server for events'),
  OPENLINEAGE_API_KEY: v.secret(v.NOT_EMPTY, 'key for that server, sent as a bearer token'),
  OPENLINEAGE_NAMESPACE: v.preset(v.NOT_EMPTY, 'vessel-export', 'namespace of the jobs in lineage events'),
  OPENLINEAGE_PARENT_ID: v.optional(
    v.PARENT_RUN,
    'run of an orchestrator that started this process, as the parent of its runs',
  ),
  JOBS_DIR: v.preset(v.kind('a folder with *.yaml files', FOLDER), 'jobs', 'folder of the job files'),
  JOBS_EXCLUDED: v.optional(
    v.groupNames('none'),
    'jobs of JOBS_DIR that are ignored, as if their files were not there',
  ),
  TEMP_DIR: v.preset(
    v.kind('a folder that can be written to', FOLDER),
    () => tmpdir(),
    'where verify --deep and sql keep copies of objects of S3 while they read them',
  ),
  LOG_LEVEL: v.preset(
    v.oneOf(['debug', 'info', 'warn', 'error', 'silent']),
    'info',
    'lowest level that is logged',
  ),
} as const;

export type VariableName = keyof typeof TABLE;
type ValueOf<Name extends VariableName> = z.output<(typeof TABLE)[Name]['schema']>;
type OptionalName = {
  [Name in VariableName]: (typeof TABLE)[Name] extends { readonly optional: true } ? Name : never;
}[VariableName];

/** The effective settings: each variable's value as its schema makes it; absent only where it is optional. */
export type Settings = { readonly [Name in Exclude<VariableName, OptionalName>]: ValueOf<Name> } & {
  readonly [Name in OptionalName]?: ValueOf<Name>;
};

export const VARIABLES = Object.entries<Variable>(TABLE).map(
  ([name, row]): Variable & { readonly name: VariableName } => ({ name: name as VariableName, ...row }),
);

/** Variables that were settings once, and what took their place. */
export const FORMER_VARIABLES: Readonly<Record<string, string>> = {
  QUEUE_BOARD_PASSWORD:
    "the page at / has replaced the queue's board: set WEB_READ_PASSWORD to view it, WEB_ACT_PASSWORD to act on it",
};
