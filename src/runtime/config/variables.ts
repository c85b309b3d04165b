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
    'how a new lake is laid out: files to be read as they lie there, or a Delta table for each job (not set: as the lake is, plain for a new one)',
  ),
  S3_SSE: v.optional(S3_SSE, 'how a store of S3 encrypts what is written (not set: as the bucket says)'),
  S3_SSE_KMS_KEY_ID: v.optional(
    v.NOT_EMPTY,
    'key of the key management service for aws:kms: its id, ARN or alias (not set: that of the bucket)',
  ),
  REDIS_URL: {
    ...v.optional(
      REDIS_URL,
      'Redis, through which all processes share the concurrency limit and the rate limit (not set: each has its own)',
    ),
    fromFile: true,
  },
  REDIS_PASSWORD: v.secret(v.NOT_EMPTY, 'password for Redis, where REDIS_URL holds none'),
  REDIS_PREFIX: v.preset(v.REDIS_NAME, 'vessel-export', 'what the name of every key in Redis begins with'),
  WORKER_CONCURRENCY: v.preset(
    v.POSITIVE,
    () => String(availableParallelism() * 2),
    'vessel-days at once in a process',
  ),
  HTTP_HOST: v.preset(
    v.kind('a host name or an address', z.string().regex(/^[\w.:-]+$/)),
    '127.0.0.1',
    'where schedule and worker answer for health and metrics, and serve the page',
  ),
  HTTP_PORT: v.preset(v.PORT, '9464', 'its port (0: a free one)'),
  PUBLIC_URL: v.optional(v.ORIGIN, 'address under which people open the page'),
  TRUSTED_PROXY: v.optional(
    v.NETWORKS,
    'proxies in front of HTTP_PORT: their X-Forwarded-For and WEB_USER_HEADER are believed',
  ),
  WEB_READ_PASSWORD: v.secret(
    v.atLeastChars(12, ', or not set: open where HTTP_HOST is this machine alone, else not served'),
    'password with which one may look at the page',
  ),
  WEB_ACT_PASSWORD: v.secret(
    v.atLeastChars(12, ' and not WEB_READ_PASSWORD, or not set: nobody acts by a password'),
    'password with which one may act by the page, and look at it',
  ),
  WEB_USER_HEADER: v.optional(
    v.headerName('X-Forwarded-User'),
    'header in which a proxy of TRUSTED_PROXY names who asks',
  ),
  WEB_GROUPS_HEADER: v.optional(
    v.headerName('X-Forwarded-Groups'),
    'header in which it names their groups, separated by commas',
  ),
  WEB_OIDC_ISSUER: v.optional(
    v.webUrl(', as the provider calls itself', true),
    'OpenID provider at which people sign in with their own names',
  ),
  WEB_OIDC_CLIENT_ID: v.optional(
    v.NOT_EMPTY,
    'client id there; its redirect URI is PUBLIC_URL/api/session/provider/return',
  ),
  WEB_OIDC_CLIENT_SECRET: v.secret(v.atLeastChars(12), 'client secret there'),
  WEB_OIDC_SCOPE: v.preset(SCOPES, 'openid profile email', 'what is asked of the provider'),
  WEB_OIDC_NAME_CLAIM: v.preset(
    v.claimName(),
    'preferred_username',
    'claim that is the name of who has signed in; the log has it',
  ),
  WEB_OIDC_GROUPS_CLAIM: v.preset(
    v.claimName(': a text or a list of them'),
    'groups',
    'claim that is held against WEB_READ_GROUPS and WEB_ACT_GROUPS',
  ),
  WEB_READ_GROUPS: v.optional(
    v.groupNames('all of them'),
    'who of those that provider or proxy names may look at the page: these groups',
  ),
  WEB_ACT_GROUPS: v.optional(
    v.groupNames('none of them'),
    'who of them may act by the page, and look at it: these groups',
  ),
  NOTIFY_URL: v.secret(
    v.webUrl(', or not set: nobody is told'),
    'where the scheduler sends a message when something goes wrong, and when it is over',
  ),
  NOTIFY_SECRET: v.secret(
    v.atLeastChars(16, ', or not set: not signed'),
    'key with which these messages are signed (HMAC-SHA256)',
  ),
  NOTIFY_FORMAT: v.preset(
    v.kind('json or text', z.enum(['json', 'text'])),
    'json',
    'what is sent: all that is known, or only the text that chats show',
  ),
  NOTIFY_NIGHT_BY: v.preset(v.TIME_OF_DAY, '12:00', 'UTC time at which the day before has to be in the lake'),
  NOTIFY_LATE_DAYS: v.preset(
    v.COUNT,
    '20',
    'vessel-days with late data that a look-back may find before somebody is told',
  ),
  // Names and meanings are OpenTelemetry's.
  OTEL_EXPORTER_OTLP_ENDPOINT: v.optional(
    v.webUrl(' such as http://collector:4318, or not set: nothing is traced'),
    'collector that traces are sent to, by OTLP over http/protobuf (/v1/traces is added)',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: v.optional(
    v.webUrl(' such as http://collector:4318/v1/traces'),
    'the same as a whole address, to which nothing is added',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: v.secret(v.HEADERS, 'headers that are sent along with traces, such as a key'),
  OTEL_SERVICE_NAME: v.optional(
    v.NOT_EMPTY,
    'what these processes are called in traces (not set: vessel-export)',
  ),
  OTEL_RESOURCE_ATTRIBUTES: v.optional(
    v.kind('name=value, several with commas between', ATTRIBUTES),
    'what else traces say of these processes',
  ),
  OTEL_TRACES_SAMPLER: v.optional(
    v.oneOf([...SAMPLERS, ...SAMPLERS.map((name) => `parentbased_${name}`)]),
    'which vessel-days are traced (not set: all, or as who began the trace has it)',
  ),
  OTEL_TRACES_SAMPLER_ARG: v.optional(
    v.kind('a number from 0 to 1', SHARE),
    'share of them, for traceidratio',
  ),
  OTEL_SDK_DISABLED: v.preset(v.FLAG, '0', 'no traces, whatever else is set'),
  JOBS_DIR: v.preset(v.kind('a folder with *.yaml files', FOLDER), 'jobs', 'folder of the job files'),
  TEMP_DIR: v.preset(
    v.kind('a folder that can be written to', FOLDER),
    () => tmpdir(),
    'where verify --deep puts objects of S3 while it reads them back',
  ),
  LOG_LEVEL: v.preset(
    v.oneOf(['debug', 'info', 'warn', 'error', 'silent']),
    'info',
    'least level that is logged',
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
    "the queue's board is gone, and the page at / shows more: WEB_ACT_PASSWORD lets people act by it, WEB_READ_PASSWORD look at it",
};
