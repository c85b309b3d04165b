/** An object store in memory, for tests of many small lakes: every sentence of the port holds, for many handles on one place. */
import { hash } from 'node:crypto';
import { CommitFailedError } from '../../src/core/errors.ts';
import { checkKey, checkNonce, checkPrefix } from '../../src/store/key.ts';
import type { ListedObject, ObjectStore, PartRef, UploadRef, Version } from '../../src/store/store.ts';
import { eachOf, KEEPS_ALL, MAX_WHOLE_BYTES, tooLargeToRead } from '../../src/store/store.ts';

interface Stored {
  readonly bytes: Uint8Array;
  readonly version: Version;
  readonly modifiedMs: number;
  /** What it was made of, where it came by an upload. */
  readonly upload?: { readonly nonce: string; readonly parts: readonly PartRef[] };
}

interface OpenUpload {
  readonly ref: UploadRef;
  readonly startedMs: number;
  /** By number; `tag` tells each writing of one. */
  readonly parts: Map<number, PartRef & { readonly bytes: Uint8Array }>;
}

const isSamePart = (a: PartRef, b: PartRef | undefined) =>
  a.tag === b?.tag && a.sha256 === b.sha256 && a.sizeBytes === b.sizeBytes;

/** Told of every change of what can be read at a key, at once; without bytes it is gone. `nonce`: of the upload that made it. */
type OnChange = (key: string, bytes: Uint8Array | undefined, nonce?: string) => void;

export function createMemoryStore(nowMs: () => number = Date.now, onChange?: OnChange): ObjectStore {
  const objects = new Map<string, Stored>();
  const uploads = new Map<string, OpenUpload>();
  let writes = 0;

  function write(key: string, bytes: Uint8Array, more: Pick<Stored, 'upload'> = {}): Version {
    checkKey(key);
    const version = `v${++writes}`;
    const stored = { bytes: Uint8Array.from(bytes), version, modifiedMs: nowMs(), ...more };
    objects.set(key, stored);
    onChange?.(key, stored.bytes, more.upload?.nonce);
    return version;
  }

  function read(key: string): Stored | undefined {
    checkKey(key);
    return objects.get(key);
  }

  function openUpload({ key, uploadId }: UploadRef): OpenUpload {
    checkKey(key);
    const upload = uploads.get(uploadId);
    if (upload === undefined) throw new CommitFailedError('upload-gone', `${key}: the upload is gone`);
    return upload;
  }

  function remove(key: string): boolean {
    const isGone = objects.delete(key);
    if (isGone) onChange?.(key, undefined);
    return isGone;
  }

  const store: ObjectStore = {
    url: 'memory://lake',
    async get(key) {
      const found = read(key);
      if (found && found.bytes.length > MAX_WHOLE_BYTES) throw tooLargeToRead(key, found.bytes.length);
      return found && { bytes: Uint8Array.from(found.bytes), version: found.version };
    },
    getRange: async (key, fromByte, toByte) => read(key)?.bytes.slice(fromByte, toByte),
    async head(key) {
      const found = read(key);
      return found && { sizeBytes: found.bytes.length, version: found.version };
    },
    put: async (key, bytes) => void write(key, bytes),
    async putIf(key, bytes, expected) {
      const found = read(key);
      if (found !== undefined && Buffer.compare(found.bytes, bytes) === 0) return found.version;
      return (found?.version ?? null) === expected ? write(key, bytes) : undefined;
    },
    putIfAbsent: async (key, bytes) => (await store.putIf(key, bytes, null)) !== undefined,
    async remove(key) {
      if (read(key) !== undefined) remove(key);
    },
    async removeAll(keys, mayReturn = []) {
      for (const key of [...keys, ...mayReturn]) await store.remove(key);
    },
    removeIf: async (key, expected) => read(key)?.version === expected && remove(key),
    list: (prefix) => eachOf(store.listPages(prefix)),
    async *listPages(prefix) {
      checkPrefix(prefix);
      const found: { readonly name: Buffer; readonly listed: ListedObject }[] = [];
      for (const [key, { bytes, version, modifiedMs }] of objects)
        if (key.startsWith(prefix))
          found.push({
            name: Buffer.from(key),
            listed: { key, sizeBytes: bytes.length, modifiedMs, tag: version },
          });
      found.sort((a, b) => Buffer.compare(a.name, b.name));
      yield found.map(({ listed }) => listed);
    },
    folderState: async () => undefined,
    async begin(key, nonce) {
      checkKey(key);
      checkNonce(nonce);
      const ref = { key, nonce, uploadId: `u${++writes}` };
      uploads.set(ref.uploadId, { ref, startedMs: nowMs(), parts: new Map() });
      return ref;
    },
    async append(ref, partNumber, bytes) {
      const { parts } = openUpload(ref);
      // Those after it must be sent again too.
      for (const later of [...parts.keys()]) if (later > partNumber) parts.delete(later);
      const part = {
        partNumber,
        sizeBytes: bytes.length,
        sha256: hash('sha256', bytes),
        tag: `p${++writes}`,
      };
      parts.set(partNumber, { ...part, bytes: Uint8Array.from(bytes) });
      return part;
    },
    async adopt(ref, parts, nonce) {
      checkKey(ref.key);
      checkNonce(nonce);
      const upload = uploads.get(ref.uploadId);
      if (upload === undefined || parts.some((part) => !isSamePart(part, upload.parts.get(part.partNumber))))
        return undefined;
      // Under another id: what the predecessor still sends goes nowhere.
      uploads.delete(ref.uploadId);
      const adopted = await store.begin(ref.key, nonce);
      for (const { partNumber } of parts)
        openUpload(adopted).parts.set(partNumber, upload.parts.get(partNumber)!);
      return adopted;
    },
    async publish(ref, parts, expected) {
      const sent = openUpload(ref).parts;
      if (parts.some((part) => !isSamePart(part, sent.get(part.partNumber))))
        throw new CommitFailedError('part-mismatch', `${ref.key}: a part is not as it was sent`);
      if (expected !== undefined && (read(ref.key)?.version ?? null) !== expected)
        throw new CommitFailedError('object-changed', `${ref.key}: another object is there`);
      const bytes = Buffer.concat(parts.map(({ partNumber }) => sent.get(partNumber)!.bytes));
      write(ref.key, bytes, { upload: { nonce: ref.nonce, parts } });
      uploads.delete(ref.uploadId);
    },
    async publishedBy({ key, nonce }, parts) {
      const made = read(key)?.upload;
      const isOfParts = made?.parts.length === parts.length;
      return isOfParts && made.nonce === nonce && parts.every((part, at) => isSamePart(part, made.parts[at]));
    },
    async abandon({ key, uploadId }) {
      checkKey(key);
      uploads.delete(uploadId);
    },
    async *listUploads(prefix) {
      checkPrefix(prefix);
      for (const { ref, startedMs } of uploads.values())
        if (ref.key.startsWith(prefix)) yield { ...ref, startedMs };
    },
    capabilities: async () => KEEPS_ALL,
    close: async () => {},
  };
  return store;
}
