import { expect } from 'vitest';
import type { ObjectStore } from '../../src/store/store.ts';

/** What the suite needs of an implementation: an empty place that any number of stores can be opened on. */
export interface StorePlace {
  /** A new store, as another process would open it. The suite closes it. */
  open(): ObjectStore;
  /** The least size of a part that is not the last. */
  readonly minPartBytes: number;
  /** False where the store uses the freedoms that the port leaves (see publish). */
  readonly strict: boolean;
  /**
   * True where a part is a thing of its own that stays until the object is published (see `append` and `adopt`): exactly
   * those bytes can then still be published, and no part is refused because its upload is gone.
   */
  readonly keepsLateParts?: boolean;
  /** So many objects take several pages of a list (default 1003). */
  readonly manyObjects?: number;
  /** Remove the place and all that is in it. */
  drop(): Promise<void>;
}

/** What the tests of a suite share. */
export interface StoreSuite {
  readonly place: StorePlace;
  /** One store on the place. */
  readonly store: ObjectStore;
  /** Another store on the same place. */
  open(): ObjectStore;
  /** A folder of its own for each test. */
  newFolder(): string;
  /** A part's bytes: as large as a part must be, with its own content. */
  partBytes(text: string): Uint8Array;
}

export function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}

export async function textOf(store: ObjectStore, key: string): Promise<string> {
  return Buffer.from((await store.get(key))!.bytes).toString();
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function keysOf(store: ObjectStore, prefix: string): Promise<string[]> {
  return (await collect(store.list(prefix))).map(({ key }) => key);
}

/** The call must throw this class of error with this code; returns it. */
export async function expectFault(
  call: () => Promise<unknown>,
  kind: new (code: string, message: string) => Error,
  code: string | RegExp,
): Promise<Error & { code: string }> {
  const fault = await faultOf(call);
  expect(fault).toBeInstanceOf(kind);
  expect((fault as { code: string }).code).toMatch(code);
  return fault as Error & { code: string };
}

/** What the call throws, or undefined. */
export async function faultOf(call: () => Promise<unknown>): Promise<unknown> {
  return await call().then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** What is left of a value after it was kept in a JSON file. */
export function kept<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

export async function inParallel<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
