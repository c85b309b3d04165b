import { randomBytes } from 'node:crypto';
import { cleanForeignText, FatalError } from '../../core/errors.ts';
import type { QueryRequest, Transport } from '../../core/model/query.ts';
import { formatRange, microsToIso } from '../../core/model/time.ts';
import type { TraceContext } from '../../core/model/tracing.ts';

/** Longest URL that is sent: proxies and servers commonly stop at 8 KB of request line and headers. */
export const MAX_URL_BYTES = 6 * 1024;

const MEDIA_TYPES: Record<Transport, string> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

/** A request in HTTP terms, below the base URL. */
interface Address {
  readonly method: 'GET' | 'POST';
  /** Begins with a slash; percent-encoded. */
  readonly path: string;
  /** Percent-encoded, without the question mark; may be empty. */
  readonly query: string;
  readonly accept: string;
  readonly body: string | undefined;
}

/**
 * Put a request into HTTP terms: POST for several expressions, and for those that a path cannot carry (empty levels, `.`, `..`) or that are too
 * long for a URL. Metadata has no POST: throws FatalError `expression-needs-post` or `url-too-long`, and wants `splitExpressions` before.
 */
export function addressOf(request: QueryRequest, baseUrlBytes = 0): Address {
  if (request.expressions.length === 0) throw new FatalError('no-expression', 'got no expression to query');
  for (const expression of request.expressions) splitDomain(expression);
  const query = queryOf(request);
  const accept = MEDIA_TYPES[request.format];
  const [only] = request.expressions;
  if (request.expressions.length === 1) {
    const path = getPath(request.family, only!);
    const urlBytes = baseUrlBytes + (path?.length ?? 0) + 1 + query.length;
    if (path !== undefined && urlBytes <= MAX_URL_BYTES)
      return { method: 'GET', path, query, accept, body: undefined };
    if (request.family === 'metadata') throw needsPost(only!, path === undefined);
  }
  if (request.family === 'metadata')
    throw new FatalError(
      'too-many-expressions',
      `metadata is read with one expression a request, got ${request.expressions.length}; split them first`,
    );
  const body = JSON.stringify(request.expressions);
  return { method: 'POST', path: `/${request.family}/query`, query, accept, body };
}

/** Splits a request into ones that `addressOf` accepts: for metadata one GET per expression, with lists of ids cut to the length of a URL. */
export function splitExpressions(request: QueryRequest, baseUrlBytes = 0): QueryRequest[] {
  if (request.family !== 'metadata') return [request];
  return request.expressions
    .flatMap((expression) => cutIdList(request, expression, baseUrlBytes))
    .map((expression) => ({ ...request, expressions: [expression] }));
}

function cutIdList(request: QueryRequest, expression: string, baseUrlBytes: number): string[] {
  const { domain, levels } = splitDomain(expression);
  if (domain !== 'id' || levels.length !== 1) return [expression];
  const fixedBytes = baseUrlBytes + '/metadata/id/?'.length + queryOf(request).length;
  const lists: string[] = [];
  let list = '';
  for (const id of levels[0]!.split(',').filter((part) => part !== '')) {
    const longer = list === '' ? id : `${list},${id}`;
    if (list !== '' && fixedBytes + encodeIdList(longer, expression).length > MAX_URL_BYTES) {
      lists.push(list);
      list = id;
    } else list = longer;
  }
  return [...lists, list].map((ids) => `id/${ids}`);
}

/** Path of a GET, or undefined if it cannot contain the expression. */
function getPath(family: QueryRequest['family'], expression: string): string | undefined {
  const { domain, levels } = splitDomain(expression);
  const asked = family === 'metadata' ? withoutEmptyEnd(domain, levels) : levels;
  // Only POST is documented for empty levels.
  if (asked.length === 0 || asked.includes('')) return undefined;
  // Servers resolve these two as path steps, encoded or not.
  if ([domain, ...asked].some((level) => level === '.' || level === '..')) return undefined;
  if (domain === 'id' && levels.length === 1) return `/${family}/id/${encodeIdList(levels[0]!, expression)}`;
  return `/${family}/${[domain, ...asked].map((level) => encodeLevel(level, expression)).join('/')}`;
}

/** The levels of a jsmea path are optional: metadata omits empty ones at its end, which may select more series. */
function withoutEmptyEnd(domain: string, levels: readonly string[]): readonly string[] {
  if (domain !== 'jsmea') return levels;
  return levels.slice(0, levels.findLastIndex((level) => level !== '') + 1);
}

function splitDomain(expression: string): { domain: string; levels: string[] } {
  const slash = expression.indexOf('/');
  if (slash <= 0 || slash === expression.length - 1)
    throw new FatalError(
      'expression-invalid',
      `got the expression '${cleanForeignText(expression)}', expected <domain>/<expression>, for example flat/IMO9321483/*`,
    );
  return { domain: expression.slice(0, slash), levels: expression.slice(slash + 1).split('/') };
}

/** Encodes everything but unreserved characters and `*`. */
function encodeLevel(level: string, expression: string): string {
  if (!level.isWellFormed())
    throw new FatalError(
      'expression-invalid',
      `the expression '${cleanForeignText(expression.toWellFormed())}' is not valid Unicode; correct the job's select`,
    );
  return encodeURIComponent(level);
}

function encodeIdList(ids: string, expression: string): string {
  return encodeLevel(ids, expression).replaceAll('%2C', ',');
}

function queryOf(request: QueryRequest): string {
  const parameters: [string, string][] = [];
  if (request.family !== 'metadata' && request.range) {
    parameters.push(['from', microsToIso(request.range.fromMicros)]);
    parameters.push(['to', microsToIso(request.range.toMicros)]);
  }
  parameters.push(['format', request.format]);
  if (request.outputDomain !== undefined) parameters.push(['output_domain', request.outputDomain]);
  if (request.verbose) parameters.push(['verbose', 'true']);
  if (request.family === 'statistics') {
    if (request.aggregations?.length) parameters.push(['aggregations', request.aggregations.join(',')]);
    if (request.window !== undefined) parameters.push(['window', request.window]);
    if (request.windowEdges !== undefined) parameters.push(['window_edges', request.windowEdges]);
  }
  return parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

function needsPost(expression: string, unfit: boolean): FatalError {
  const shown = cleanForeignText(expression, [], 200);
  return unfit
    ? new FatalError(
        'expression-needs-post',
        `the metadata of '${shown}' cannot be asked for: empty levels other than at the end of a jsmea id (and '.' or '..') need a POST, which the service has only for measurements and statistics; put * for the empty levels, or select these series through flat/… or id/…`,
      )
    : new FatalError(
        'url-too-long',
        `the metadata of '${shown}' needs a URL of more than ${MAX_URL_BYTES} bytes; use a shorter expression`,
      );
}

/** A short description of a request, for messages: `measurements of flat/IMO9321483/* in [from, to)`. */
export function describeRequest(request: QueryRequest): string {
  const [first = '?', ...others] = request.expressions;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const range = request.family !== 'metadata' && request.range ? ` in ${formatRange(request.range)}` : '';
  return `${request.family} of ${cleanForeignText(first, [], 120)}${more}${range}`;
}

/** Headers that identify a request: its id, and a new span of the trace if there is one. */
export function idHeaders(requestId: string, trace: TraceContext | undefined): Record<string, string> {
  const headers: Record<string, string> = { 'x-request-id': requestId };
  if (trace === undefined) return headers;
  headers.traceparent = `00-${trace.traceId}-${newSpanId()}-${trace.flags}`;
  if (trace.state !== undefined) headers.tracestate = trace.state;
  return headers;
}

function newSpanId(): string {
  const id = randomBytes(8).toString('hex');
  return /^0+$/.test(id) ? newSpanId() : id;
}

/** A request in messages: its description and its id at the service. */
export function nameRequest(asked: string, requestId: string): string {
  return `${asked} (request ${requestId})`;
}

/** A message without the id of its request, which differs each time. */
export function withoutRequestIds(message: string): string {
  return message.replaceAll(/ \(request [0-9a-f-]{36}\)/g, '');
}
