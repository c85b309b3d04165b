/** The OpenAPI 3.1 document, made from the schemas that validate requests. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { clientAddress } from '../../core/logins.ts';
import { API_VERSIONS, type Family } from '../../core/model/index.ts';
import { CONTENT_TYPES, formatsOf } from '../query/formats.ts';
import { FAMILIES, PARAMETERS } from '../query/parameters.ts';
import { querySchema } from './request-body.ts';
import { RESPONSE_SCHEMAS } from './response-schemas.ts';
import type { RouteContext } from './routes.ts';
import { AUTH_SEGMENT } from './token-endpoint.ts';

type Json = Record<string, unknown>;

const JSMEA = ['naming_rule', 'category', 'sub_category', 'content', 'position', 'item', 'modifier'];
/** Path forms of a family; optional levels are written out in full. */
const FORMS: readonly (readonly [name: string, path: string, only?: Family])[] = [
  ['id', 'id/{ids}'],
  ['jsmea', `jsmea/{imo_number}/${JSMEA.map((level) => `{${level}}`).join('/')}`],
  ['flat', 'flat/{imo_number}/{tag_name}'],
  [
    'vis',
    'vis-3-8a/{imo_number}/{primary_item_vis_path}/sec/{secondary_item_vis_path}/meta/{metadata}',
    'statistics',
  ],
  ['expression', '{domain}/{expression}'],
];
const ERRORS: Readonly<Record<number, string>> = {
  400: 'A parameter, path or body is wrong',
  401: 'The bearer token, or client id and secret, are missing or not valid',
  404: 'The domain is not known, or no series that the client may read matches',
  406: 'The format is not offered',
  408: 'The body did not come in time',
  413: 'The body is too large',
  415: 'The body is not application/json',
  429: 'The rate limit or the concurrent-request maximum is exceeded, or too many logins failed',
  500: 'The service failed',
  503: 'Too many request bodies are being sent at once',
};

/** Serve the document at `/openapi.json`, without a token, within the rate limit. */
export function registerOpenApi(
  app: FastifyInstance,
  { tenant, rateLimit, clock }: Pick<RouteContext, 'tenant' | 'rateLimit' | 'clock'>,
): void {
  const document = JSON.stringify(openApiDocument(tenant));
  app.get('/openapi.json', async (request, reply) => {
    rateLimit(clientAddress(request.socket.remoteAddress), clock.nowMs());
    return reply.type('application/json; charset=utf-8').send(document);
  });
}

function openApiDocument(tenant: string): Json {
  const paths: Json = {};
  for (const family of FAMILIES) {
    for (const [name, path, only] of FORMS)
      if (only === undefined || only === family)
        paths[`/${family}/${path}`] = { get: getOperation(family, name, path) };
    paths[`/${family}/query`] = { post: postOperation(family) };
  }
  paths['/oauth2/token'] = { servers: [{ url: `/${AUTH_SEGMENT}` }], post: tokenOperation() };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Vessel Time Series Query Service',
      version: '2026-09-10',
      summary: 'Read-only access to time series recorded by vessel sensors',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `/${tenant}` }],
    security: [{ clientCredentials: [] }],
    paths,
    components: {
      securitySchemes: {
        clientCredentials: {
          type: 'oauth2',
          flows: { clientCredentials: { tokenUrl: `/${AUTH_SEGMENT}/oauth2/token`, scopes: {} } },
        },
        client: { type: 'http', scheme: 'basic' },
      },
      schemas: Object.fromEntries(
        Object.entries(RESPONSE_SCHEMAS).map(([name, schema]) => [name, jsonSchema(schema)]),
      ),
    },
  };
}

function getOperation(family: Family, form: string, path: string): Json {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  return {
    operationId: `get-${family}-${form}`,
    summary: `${family} of the series that a ${form === 'expression' ? 'domain and expression select' : `path in ${path.split('/')[0]} selects`}`,
    parameters: [
      ...inPath.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...commonParameters(family),
    ],
    responses: responses(family, [400, 401, 404, 406, 429, 500]),
  };
}

function postOperation(family: Family): Json {
  return {
    operationId: `post-${family}-query`,
    summary: `${family} of the series that any of the expressions selects`,
    parameters: commonParameters(family),
    requestBody: { required: true, content: { 'application/json': { schema: jsonSchema(querySchema) } } },
    responses: responses(family, [400, 401, 404, 406, 408, 413, 415, 429, 500, 503]),
  };
}

function tokenOperation(): Json {
  const schema = {
    type: 'object',
    properties: { grant_type: { type: 'string', const: 'client_credentials' } },
    required: ['grant_type'],
  };
  return {
    operationId: 'post-token',
    summary: 'A bearer token for client credentials',
    security: [{ client: [] }],
    requestBody: { required: true, content: { 'application/x-www-form-urlencoded': { schema } } },
    responses: {
      200: { description: 'The token', content: jsonOf('Token') },
      ...errorResponses([400, 401, 408, 413, 429, 503], 'TokenError'),
    },
  };
}

function commonParameters(family: Family): Json[] {
  const inQuery = Object.entries(PARAMETERS[family].shape).map(([name, { description }]) => ({
    ...{ name, in: 'query', required: false, description },
    schema: parameterSchema(family, name),
  }));
  const header = { in: 'header', required: false };
  const description =
    'Comes back in the answer, cut to 64 letters, digits and ._:-; made up where there is none';
  return [
    { name: 'x-api-version', ...header, schema: { type: 'string', enum: [...API_VERSIONS] } },
    { name: 'x-request-id', ...header, description, schema: { type: 'string' } },
    ...inQuery,
  ];
}

function parameterSchema(family: Family, name: string): Json {
  if (name === 'verbose') return { type: 'boolean' };
  if (name === 'format') return { type: 'string', enum: formatsOf(family, 'array') };
  if (name === 'window_edges') return { type: 'string', enum: ['whole', 'partial'] };
  return { type: 'string', minLength: 1 };
}

function responses(family: Family, errors: readonly number[]): Json {
  const text = { schema: { type: 'string' } };
  const others = formatsOf(family, 'array').filter((format) => format !== 'json');
  const content = {
    ...jsonOf(family),
    ...Object.fromEntries(others.map((format) => [CONTENT_TYPES[format].split(';')[0], text])),
  };
  const headers = { 'api-version': text, 'x-request-id': text };
  return { 200: { description: 'The answer', headers, content }, ...errorResponses(errors) };
}

function errorResponses(statuses: readonly number[], schema = 'Error'): Json {
  return Object.fromEntries(
    statuses.map((status) => [status, { description: ERRORS[status], content: jsonOf(schema) }]),
  );
}

function jsonOf(name: string): Json {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
}

function jsonSchema(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema) as Json;
  return rest;
}
