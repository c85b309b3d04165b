/** A collector for a test: takes OTLP by http/protobuf and decodes it by the field numbers of opentelemetry-proto. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { startHttpServer } from '../../helpers/http-server.ts';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** '' where it begins the trace. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly {
    readonly name: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
  readonly status: { readonly code: 'unset' | 'ok' | 'error'; readonly message: string };
  /** Of the process. */
  readonly resource: Readonly<Record<string, unknown>>;
}

export type Collector = Awaited<ReturnType<typeof startCollector>>;

export async function startCollector() {
  const spans: CollectedSpan[] = [];
  const requests: { url: string; headers: IncomingHttpHeaders }[] = [];
  let text = '';
  let answer: ((response: ServerResponse) => void) | undefined;
  const server = await startHttpServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
    requests.push({ url: request.url ?? '', headers: request.headers });
    text += bytes.toString('latin1');
    if (answer !== undefined) return answer(response);
    spans.push(...readRequest(bytes));
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  return {
    url: server.url,
    spans,
    requests,
    /** All bytes that came, as text: what is not in it was not sent. */
    get text() {
      return text;
    },
    /** What is answered instead, from now on. */
    get answer() {
      return answer;
    },
    set answer(other) {
      answer = other;
    },
    [Symbol.asyncDispose]: server.close,
  };
}

type Field = bigint | Buffer;
type Message = ReadonlyMap<number, readonly Field[]>;

/** The wire format of protobuf: fields by number, in their order. Throws for what is none. */
function readMessage(bytes: Buffer): Message {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('cut off');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const [number, type] = [key >> 3, key & 7];
    let value: Field;
    if (type === 0) value = varint();
    else if (type === 1) value = take(8).readBigUInt64LE();
    else if (type === 2) value = take(Number(varint()));
    else if (type === 5) value = BigInt(take(4).readUInt32LE());
    else throw new Error(`wire type ${type}`);
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const messages = (message: Message, number: number) =>
  (message.get(number) ?? []).map((field) => readMessage(field as Buffer));
const textOf = (message: Message, number: number) => (message.get(number)?.[0] ?? '').toString();
const hexOf = (message: Message, number: number) =>
  ((message.get(number)?.[0] as Buffer | undefined) ?? Buffer.alloc(0)).toString('hex');
const numberOf = (message: Message, number: number) => Number(message.get(number)?.[0] ?? 0);
const millisOf = (message: Message, number: number) => numberOf(message, number) / 1e6;

/** KeyValue: key = 1, value = 2. */
function readAttributes(message: Message, number: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(message, number).map((pair) => [textOf(pair, 1), readValue(messages(pair, 2)[0] ?? new Map())]),
  );
}

/** AnyValue: string = 1, bool = 2, int = 3, double = 4, array = 5. */
function readValue(value: Message): unknown {
  if (value.has(1)) return textOf(value, 1);
  if (value.has(2)) return value.get(2)![0] === 1n;
  if (value.has(3)) return Number(BigInt.asIntN(64, value.get(3)![0] as bigint));
  if (value.has(4)) return new Float64Array(new BigUint64Array([value.get(4)![0] as bigint]).buffer)[0];
  return messages(value, 5).flatMap((array) => messages(array, 1).map(readValue));
}

const KINDS = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const CODES = ['unset', 'ok', 'error'] as const;

/** ExportTraceServiceRequest → ResourceSpans (1) → ScopeSpans (2) → Span (2). */
function readRequest(bytes: Buffer): CollectedSpan[] {
  return messages(readMessage(bytes), 1).flatMap((ofResource) => {
    const resource = readAttributes(messages(ofResource, 1)[0] ?? new Map(), 1);
    return messages(ofResource, 2).flatMap((ofScope) =>
      messages(ofScope, 2).map((span) => readSpan(span, resource)),
    );
  });
}

function readSpan(span: Message, resource: CollectedSpan['resource']): CollectedSpan {
  const status = messages(span, 15)[0] ?? new Map();
  return {
    traceId: hexOf(span, 1),
    spanId: hexOf(span, 2),
    parentId: hexOf(span, 4),
    name: textOf(span, 5),
    kind: KINDS[numberOf(span, 6)]!,
    startMs: millisOf(span, 7),
    endMs: millisOf(span, 8),
    attributes: readAttributes(span, 9),
    events: messages(span, 11).map((event) => ({
      name: textOf(event, 2),
      attributes: readAttributes(event, 3),
    })),
    status: { code: CODES[numberOf(status, 3)]!, message: textOf(status, 2) },
    resource,
  };
}
