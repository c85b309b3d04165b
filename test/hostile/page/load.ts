/** Readers of the page that do not read, and connections that are never used: beside them it is healthy. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Category, HostileInput } from '../input.ts';
import { openSocket } from '../raw-http.ts';
import type { PageFace } from './page-face.ts';
import { ACT_LINES, OBJECT_PATH } from './page-face.ts';

const READERS = 400;
const HALF_HEADS = 520;
/** Some of what was asked is on its way by then. */
const BEGINNING_MS = 2_000;

type Flood = (face: PageFace) => {
  readonly count: number;
  readonly from: () => string;
  readonly bytes: Buffer;
};

/** All of them at once, from one address or from one each. */
function flood(count: number, isOne: boolean, bytes: (face: PageFace) => Buffer): Flood {
  return (face) => {
    const one = face.newAddress();
    return { count, from: isOne ? () => one : face.newAddress, bytes: bytes(face) };
  };
}

async function opened(face: PageFace, floods: readonly Flood[]): Promise<Socket[]> {
  const all = floods.map((each) => each(face));
  return await Promise.all(
    all.flatMap(({ count, from, bytes }) =>
      Array.from({ length: count }, async () => {
        const socket = openSocket(face.port, from()).pause();
        await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
        socket.write(bytes);
        return socket;
      }),
    ),
  );
}

/** Opened and held open while whoever probes asks, also from one of the addresses that flood it. */
function held(name: string, ...floods: readonly Flood[]): HostileInput<PageFace> {
  return {
    name,
    async send(face) {
      const opening = opened(face, floods);
      const meanwhile = await face.health('127.0.0.1', opening);
      const sockets = await opening;
      try {
        const [own] = sockets;
        const during = await face.health(own?.localAddress ?? '127.0.0.1', sleep(BEGINNING_MS));
        return meanwhile ?? during ?? (await face.health('127.0.0.1'));
      } finally {
        for (const socket of sockets) socket.destroy();
      }
    },
  };
}

const object = (face: PageFace) =>
  Buffer.from(`GET ${OBJECT_PATH} HTTP/1.1\r\nhost: localhost\r\ncookie: ${face.cookie}\r\n\r\n`);
const halfHead = () => Buffer.from('GET / HTTP/1.1\r\nhost: localhost\r\nx-part: ');
const halfBody = () =>
  Buffer.from(
    `POST /api/session HTTP/1.1\r\nhost: localhost\r\n${ACT_LINES.join('\r\n')}\r\ncontent-length: 60000\r\n\r\n{`,
  );
const pipelined = (face: PageFace) => Buffer.concat(Array.from({ length: 200 }, () => object(face)));
const ready = () => Buffer.from('GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(5));
const shell = () =>
  Buffer.from('GET /page/app.js HTTP/1.1\r\nhost: localhost\r\naccept-encoding: identity\r\n\r\n'.repeat(10));

export const READING: Category<PageFace> = {
  name: 'readers of the page that do not read',
  inputs: [
    held(`${READERS} of one address`, flood(READERS, true, object)),
    held(`${READERS}, each of an address of its own`, flood(READERS, false, object)),
    held(
      `${READERS}, and ${HALF_HEADS} half-sent heads beside them`,
      ...[flood(READERS, false, object), flood(HALF_HEADS, true, halfHead)],
    ),
    held('100 that ask 200 times at once', flood(100, false, pipelined)),
    held(`${READERS} of the page’s files`, flood(READERS, false, shell)),
    {
      name: `${READERS} that leave at once, ten times over`,
      async send(face) {
        for (let round = 0; round < 10; round++)
          for (const socket of await opened(face, [flood(READERS, false, object)])) socket.destroy();
        return await face.health('127.0.0.1');
      },
    },
  ],
};

/** Most time that a connection which says nothing, or too little, may be kept. */
const PATIENCE_MS = 60_000;

/** Sends a byte now and then, so that no connection is ever idle. */
const DRIPPING: HostileInput<PageFace> = {
  name: 'heads and bodies that come a byte at a time are given up',
  async send(face) {
    const stop = AbortSignal.timeout(PATIENCE_MS);
    const kept = await Promise.all(
      Object.entries({ 'a head': halfHead(), 'a body': halfBody(), nothing: Buffer.alloc(0) }).map(
        async ([name, bytes]) => {
          const socket = openSocket(face.port, face.newAddress()).resume();
          socket.write(bytes);
          const timer = setInterval(() => socket.write('x'), 1_000);
          const isClosed = await Promise.race([
            once(socket, 'close').then(() => true),
            once(stop, 'abort').then(() => false),
          ]);
          clearInterval(timer);
          socket.destroy();
          return isClosed ? [] : [name];
        },
      ),
    );
    const names = kept.flat();
    return names.length === 0 ? undefined : `kept for ${PATIENCE_MS / 1_000} s: ${names.join(', ')}`;
  },
};

export const CONNECTIONS: Category<PageFace> = {
  name: 'connections of the page',
  hangMs: 120_000,
  inputs: [
    held(`${HALF_HEADS} half-sent heads of one address`, flood(HALF_HEADS, true, halfHead)),
    held(`${HALF_HEADS} half-sent heads of as many`, flood(HALF_HEADS, false, halfHead)),
    held('2000 half-sent heads of as many', flood(2_000, false, halfHead)),
    held(
      `${HALF_HEADS} that say nothing`,
      flood(HALF_HEADS, true, () => Buffer.alloc(0)),
    ),
    held(`${HALF_HEADS} half-sent bodies`, flood(HALF_HEADS, false, halfBody)),
    held('1000 that ask whether it is ready', flood(1_000, true, ready)),
    DRIPPING,
  ],
};
