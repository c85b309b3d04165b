/** The environment variables: name, meaning, rule and default of each, as one table. */
import { availableParallelism, tmpdir } from 'node:os';
import { z } from 'zod';
import { API_VERSIONS, LAYOUTS } from '../../core/model/index.ts';
import { isRedisUrl, REDIS_URL_RULE } from '../../core/model/web-address.ts';
import { LAKE_URL_RULE, readLakeUrl } from '../../store/open-store.ts';
import { NOTICE_VARIABLES } from './notice-variables.ts';
import { TRACING_VARIABLES } from './tracing-variables.ts';
import { hostList, redisName, serviceUrl, type Variable, wholeNumber } from './variable.ts';
import { WEB_VARIABLES } from './web-variables.ts';

/** As S3 names them in `x-amz-server-side-encryption`. */
const S3_SSE_NAMES = ['AES256', 'aws:kms', 'aws:kms:dsse'] as const;

export const VARIABLES = [
  {
    name: 'QUERY_BASE_URL',
    meaning: "the query service's address with its tenant segment",
    rule: 'an http(s) URL such as https://api.example.com/my-tenant, without query or password, of at most 2,000 characters',
    schema: serviceUrl,
  },
  {
    name: 'QUERY_AUTH_URL',
    meaning: 'where access tokens are obtained (/oauth2/token is added)',
    rule: 'an http(s) URL such as https://auth.example.com, without query or password, of at most 2,000 characters',
    schema: serviceUrl,
  },
  { name: 'QUERY_CLIENT_ID', meaning: 'client id', rule: 'not empty', schema: z.string().min(1) },
  {
    name: 'QUERY_CLIENT_SECRET',
    meaning: 'client secret',
    rule: 'not empty',
    schema: z.string().min(1),
    secret: true,
    fromFile: true,
  },
  {
    name: 'QUERY_API_VERSION',
    meaning: 'version of the API',
    rule: `one of ${API_VERSIONS.join(', ')}`,
    schema: z.enum(API_VERSIONS),
    fallback: () => '2026-09-10',
  },
  {
    name: 'QUERY_MAX_CONCURRENCY',
    meaning: 'concurrency limit: requests in flight',
    rule: 'a whole number of at least 1',
    schema: wholeNumber(1),
    fallback: () => '4',
  },
  {
    name: 'QUERY_MAX_REQUESTS_PER_MINUTE',
    meaning: 'rate limit: requests per minute (0: none)',
    rule: 'a whole number',
    schema: wholeNumber(0),
    fallback: () => '0',
  },
  {
    name: 'QUERY_PACE_GROUP',
    meaning: 'who shares the rate limit through Redis: everyone with the same name',
    rule: 'letters, digits and . _ - (at most 64)',
    schema: redisName,
    fallback: () => 'all',
  },
  {
    name: 'QUERY_ALLOW_HTTP',
    meaning:
      'hosts that secrets may be sent to in clear: without TLS, or without a check of certificates (1: any)',
    rule: '0, 1, or names of hosts with commas between',
    schema: hostList,
    fallback: () => '0',
  },
  {
    name: 'LAKE_URL',
    meaning: 'where the lake is',
    rule: LAKE_URL_RULE,
    schema: z.string().refine((text) => !('advice' in readLakeUrl(text))),
    advice: (text) => {
      const read = readLakeUrl(text);
      return 'advice' in read ? read.advice : undefined;
    },
  },
  {
    name: 'LAKE_LAYOUT',
    meaning:
      'how a new lake is laid out: files to be read as they lie there, or a Delta table for each job (not set: as the lake is, plain for a new one)',
    rule: `one of ${LAYOUTS.join(', ')}`,
    schema: z.enum(LAYOUTS),
    optional: true,
  },
  {
    name: 'S3_SSE',
    meaning: 'how a store of S3 encrypts what is written (not set: as the bucket says)',
    rule: `one of ${S3_SSE_NAMES.join(', ')}`,
    schema: z.enum(S3_SSE_NAMES),
    optional: true,
  },
  {
    name: 'S3_SSE_KMS_KEY_ID',
    meaning:
      'key of the key management service for aws:kms: its id, ARN or alias (not set: that of the bucket)',
    rule: 'not empty',
    schema: z.string().min(1),
    optional: true,
  },
  {
    name: 'REDIS_URL',
    meaning:
      'Redis, through which all processes share the concurrency limit and the rate limit (not set: each has its own)',
    rule: REDIS_URL_RULE,
    schema: z.string().refine(isRedisUrl),
    advice: (text) => (text.includes('%') ? "a '%' in a password is written %25" : undefined),
    optional: true,
    fromFile: true,
  },
  {
    name: 'REDIS_PASSWORD',
    meaning: 'password for Redis, where REDIS_URL holds none',
    rule: 'not empty',
    schema: z.string().min(1),
    secret: true,
    fromFile: true,
    optional: true,
  },
  {
    name: 'REDIS_PREFIX',
    meaning: 'what the name of every key in Redis begins with',
    rule: 'letters, digits and . _ - (at most 64)',
    schema: redisName,
    fallback: () => 'vessel-export',
  },
  {
    name: 'WORKER_CONCURRENCY',
    meaning: 'vessel-days at once in a process',
    rule: 'a whole number of at least 1',
    schema: wholeNumber(1),
    fallback: () => String(availableParallelism() * 2),
  },
  {
    name: 'HTTP_HOST',
    meaning: 'where schedule and worker answer for health and metrics, and serve the page',
    rule: 'a host name or an address',
    schema: z.string().regex(/^[\w.:-]+$/),
    fallback: () => '127.0.0.1',
  },
  {
    name: 'HTTP_PORT',
    meaning: 'its port (0: a free one)',
    rule: 'a port',
    schema: wholeNumber(0).refine((n) => n < 65_536),
    fallback: () => '9464',
  },
  ...WEB_VARIABLES,
  ...NOTICE_VARIABLES,
  ...TRACING_VARIABLES,
  {
    name: 'JOBS_DIR',
    meaning: 'folder of the job files',
    rule: 'a folder with *.yaml files',
    schema: z.string().min(1),
    fallback: () => 'jobs',
  },
  {
    name: 'TEMP_DIR',
    meaning: 'where verify --deep puts objects of S3 while it reads them back',
    rule: 'a folder that can be written to',
    schema: z.string().min(1),
    fallback: () => tmpdir(),
  },
  {
    name: 'LOG_LEVEL',
    meaning: 'least level that is logged',
    rule: 'one of debug, info, warn, error, silent',
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    fallback: () => 'info',
  },
] as const satisfies readonly Variable[];

/** Variables that were settings once, and what took their place. */
export const FORMER_VARIABLES: Readonly<Record<string, string>> = {
  QUEUE_BOARD_PASSWORD:
    "the queue's board is gone, and the page at / shows more: WEB_ACT_PASSWORD lets people act by it, WEB_READ_PASSWORD look at it",
};

type Row = (typeof VARIABLES)[number];
type OptionalRow = Extract<Row, { readonly optional: true }>;

export type VariableName = Row['name'];

/** The effective settings: each variable's value as its schema makes it; absent only where it is optional. */
export type Settings = {
  readonly [Name in Exclude<Row, OptionalRow>['name']]: ValueOf<Name>;
} & { readonly [Name in OptionalRow['name']]?: ValueOf<Name> };

type ValueOf<Name extends VariableName> = z.output<Extract<Row, { readonly name: Name }>['schema']>;
