/** Many clients, slow clients, and clients that leave. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Category, HostileInput } from '../input.ts';
import { openSocket } from '../raw-http.ts';
import type { Asked, ServiceFace } from './service-face.ts';
import { VESSEL } from './service-face.ts';

const YEAR = 'from=2025-01-01T00:00:00Z&to=2026-01-01T00:00:00Z';
const FOUR_YEARS = 'from=2022-01-01T00:00:00Z&to=2026-01-01T00:00:00Z';
/** So long the service may still work for clients that have gone. */
const SETTLE_MS = 60_000;
const LOOK_MS = 500;
/** A process that computes less than this of the time has nothing to do. */
const IDLE_SHARE = 0.3;

/** Opens connections from one address each, writes to them, and hands them over. */
async function opened(face: ServiceFace, count: number, bytes: Buffer): Promise<Socket[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = openSocket(face.port, face.newAddress());
      await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
      socket.write(bytes);
      return socket;
    }),
  );
}

function destroyAll(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.destroy();
}

/** Undefined once the service computes no more; else that it did for too long. */
async function staysBusy(face: ServiceFace): Promise<string | undefined> {
  for (let waitedMs = 0; waitedMs < SETTLE_MS; waitedMs += LOOK_MS) {
    const [before, startedMs] = [face.process.cpuMs(), performance.now()];
    await sleep(LOOK_MS);
    if ((face.process.cpuMs() - before) / (performance.now() - startedMs) < IDLE_SHARE) return undefined;
  }
  return `the service still computes ${SETTLE_MS / 1000} s after its clients have gone`;
}

/** Large answers whose clients leave: at once, or when the first bytes have come. */
export function abandoned(
  name: string,
  asked: Asked,
  count: number,
  waits: boolean,
): HostileInput<ServiceFace> {
  return {
    name: `${count} clients leave ${waits ? 'at the first byte' : 'at once'}: ${name}`,
    async send(face) {
      const authorization = `Bearer ${face.wide.token}`;
      const sockets = await opened(face, count, face.bytesOf({ ...asked, authorization }));
      if (waits)
        await Promise.race([
          Promise.all(sockets.map((socket) => Promise.race([once(socket, 'data'), once(socket, 'close')]))),
          sleep(10_000, undefined, { ref: false }),
        ]);
      destroyAll(sockets);
      return staysBusy(face);
    },
  };
}

const LARGE: readonly (readonly [string, Asked])[] = [
  ['a year of NDJSON', { path: `/measurements/flat/${VESSEL}/*?${YEAR}&format=ndjson` }],
  ['a year of JSON', { path: `/measurements/flat/${VESSEL}/*?${YEAR}&format=json` }],
  ['four vessel-years of Parquet', { path: `/measurements/flat/*/*?${FOUR_YEARS}&format=parquet` }],
  [
    'a year of statistics by the minute',
    { path: `/statistics/flat/${VESSEL}/*?${YEAR}&window=1m&aggregations=mean,count` },
  ],
  [
    'four years of statistics',
    { path: `/statistics/flat/*/*?${FOUR_YEARS}&window=1d&aggregations=stddev,kurtosis` },
  ],
  ['statistics as html', { path: `/statistics/flat/${VESSEL}/*?${YEAR}&window=1h&format=html` }],
  ['statistics as csv', { path: `/statistics/flat/${VESSEL}/*?${YEAR}&window=1h&format=csv` }],
];

export const ABANDONED: Category<ServiceFace> = {
  name: 'clients that leave',
  hangMs: 150_000,
  inputs: LARGE.flatMap(([name, asked]) => [
    abandoned(name, asked, 20, false),
    abandoned(name, asked, 4, true),
  ]),
};

/** Most time that a connection which says nothing, or too little, may be kept. */
const PATIENCE_MS = 150_000;
const HALF_SENT = 400;

/** Who is not let send more is not waited for. */
const SENDING_MS = 5_000;

/** Resolves when all that was written has left, or the connection is closed. */
async function sent(socket: Socket): Promise<void> {
  if (socket.destroyed || socket.writableLength === 0) return;
  // Who is turned away while writing has an error; the close follows.
  await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
}

/** Connections that are held open while an honest request is asked (by `Target.ailment`) and memory looked at. */
function held(name: string, count: number, bytes: (face: ServiceFace) => Buffer): HostileInput<ServiceFace> {
  return {
    name: `${count} × ${name}`,
    async send(face) {
      const sockets = await opened(face, count, bytes(face));
      try {
        await Promise.race([Promise.all(sockets.map(sent)), sleep(SENDING_MS, undefined, { ref: false })]);
        const answer = await face.ask({ path: `/metadata/flat/${VESSEL}/Roll`, waitMs: 60_000 });
        return answer.status === 200
          ? undefined
          : `an honest request beside them got status ${answer.status}`;
      } finally {
        destroyAll(sockets);
      }
    },
  };
}

/** A POST of which more was announced than comes. */
const begun =
  (announced: string, body: string | Buffer, more: Asked = {}) =>
  (face: ServiceFace) =>
    face.bytesOf({
      ...{ method: 'POST', path: '/measurements/query', body, ...more },
      headers: ['content-type: application/json', announced],
    });
const halfBody = (more?: Asked) => begun('content-length: 1048000', Buffer.alloc(1_000_000, 0x20), more);

/** Bodies of which a part comes, and then nothing. */
export function halfSent(count: number): HostileInput<ServiceFace> {
  return held('a half-sent body with a token', count, halfBody());
}

/** A request that is never finished: its headers, its body, or the reading of its answer. */
const UNFINISHED: readonly (readonly [string, (face: ServiceFace) => Buffer])[] = [
  ['nothing', () => Buffer.alloc(0)],
  ['half a request line', () => Buffer.from('GET /fleet/meta')],
  [
    'half a header',
    () => Buffer.from('GET /fleet/metadata/flat/x/y HTTP/1.1\r\nhost: x\r\nauthorization: Bear'),
  ],
  ['a body without a token', begun('content-length: 100', '[', { authorization: '' })],
  ['a body with one', begun('content-length: 100', '[')],
  ['a chunk', begun('transfer-encoding: chunked', 'fff\r\n[')],
];

/** Sends a byte now and then, so that no connection is ever idle; resolves when the service has closed it. */
async function drip(socket: Socket, signal: AbortSignal): Promise<boolean> {
  const closed = once(socket, 'close').then(() => true);
  const timer = setInterval(() => socket.write(' '), 2_000);
  const gaveUp = once(signal, 'abort').then(() => false);
  try {
    return await Promise.race([closed, gaveUp]);
  } finally {
    clearInterval(timer);
    socket.destroy();
  }
}

/** All at once, since what is waited for takes a while: whoever does not get on is closed. */
const DRIPPING: HostileInput<ServiceFace> = {
  name: 'requests that come a byte at a time, or not at all, are given up',
  async send(face) {
    const stop = AbortSignal.timeout(PATIENCE_MS);
    const open = await Promise.all(
      UNFINISHED.map(async ([name, bytes]) => {
        const [socket] = await opened(face, 1, bytes(face));
        socket!.resume();
        return (await drip(socket!, stop)) ? undefined : name;
      }),
    );
    const kept = open.filter((name) => name !== undefined);
    return kept.length === 0 ? undefined : `kept for ${PATIENCE_MS / 1000} s: ${kept.join(', ')}`;
  },
};

/** Clients that ask for much and read nothing. */
const STOPPED_READERS: HostileInput<ServiceFace> = held(
  'clients that ask for a year and read nothing',
  40,
  (face) => face.bytesOf({ path: `/measurements/flat/${VESSEL}/*?${YEAR}&format=ndjson` }),
);

export const SLOW: Category<ServiceFace> = {
  name: 'slow clients',
  hangMs: PATIENCE_MS + 30_000,
  inputs: [
    held('a half-sent body without a token', HALF_SENT, halfBody({ authorization: '' })),
    halfSent(HALF_SENT),
    STOPPED_READERS,
    ...UNFINISHED.map(([name, bytes]) => held(name, HALF_SENT, bytes)),
    DRIPPING,
  ],
};
