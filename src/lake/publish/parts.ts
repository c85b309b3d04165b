/**
 * Row groups → parts of one open upload. Memory: that of one part, at most its least size and one row group, used again
 * for the next. Nothing needs a fence here: an upload is visible to nobody, and only a claim that stands can seal and publish it.
 */
import type {
  EncodedRowGroup,
  FormatSizes,
  Layout,
  OpenCheckpoint,
  SplicedRowGroup,
  VesselDay,
} from '../../core/model/index.ts';
import type { ObjectStore, PartRef, UploadRef } from '../../store/store.ts';
import { dayPrefix, objectKey, parseDayFileKey, tableFileKey } from '../keys.ts';

const SMALL_BYTES = 256 * 1024;
const MAGIC = new TextEncoder().encode('PAR1');

export type PartUpload = ReturnType<typeof createPartUpload>;

interface PartUploadOptions {
  readonly store: ObjectStore;
  readonly day: VesselDay;
  readonly sizes: FormatSizes;
  readonly nonce: () => string;
  readonly layout: Layout;
  readonly resume?: { readonly upload: UploadRef; readonly checkpoint: OpenCheckpoint };
}

/** A part upload for one vessel-day; nothing is asked of the store before the first part is full. */
export function createPartUpload(options: PartUploadOptions) {
  const { store, sizes } = options;
  let upload = options.resume?.upload;
  const parts: PartRef[] = [...(options.resume?.checkpoint.parts ?? [])];
  const groups: SplicedRowGroup[] = [...(options.resume?.checkpoint.rowGroups ?? [])];
  /** What is not uploaded yet, at its begin; used again when a part is stored. */
  let memory = new Uint8Array(0);
  let pendingBytes = 0;
  if (parts.length === 0) add(MAGIC);

  function add(bytes: Uint8Array): void {
    const needed = pendingBytes + bytes.length;
    if (needed > memory.length) {
      // A small object gets what it takes; a large one enough for a part, so that it is allocated once.
      const larger = new Uint8Array(needed < SMALL_BYTES ? needed * 2 : needed + sizes.partBytes);
      larger.set(memory.subarray(0, pendingBytes));
      memory = larger;
    }
    memory.set(bytes, pendingBytes);
    pendingBytes = needed;
  }

  async function create(): Promise<UploadRef> {
    const nonce = options.nonce();
    const key = options.layout === 'delta' ? tableFileKey(options.day, nonce) : objectKey(options.day);
    return await store.begin(key, nonce);
  }

  async function send(): Promise<void> {
    upload ??= await create();
    const part = await store.append(upload, parts.length + 1, memory.subarray(0, pendingBytes));
    parts.push(part);
    pendingBytes = 0;
  }

  return {
    /** Row groups appended so far, in order; those in parts and those pending. */
    groups: groups as readonly SplicedRowGroup[],
    parts: parts as readonly PartRef[],
    get upload(): UploadRef | undefined {
      return upload;
    },
    /** Add a row group and release it. True when that filled a part, which has then been uploaded with all groups so far. */
    async append(group: EncodedRowGroup): Promise<boolean> {
      groups.push({ bodyBytes: group.body.length, tail: group.tail, rows: group.rows });
      add(group.body);
      if (pendingBytes < sizes.partBytes) return false;
      await send();
      return true;
    },
    /** Upload what is pending, with the footer, as the last part. */
    async finish(footer: Uint8Array): Promise<void> {
      add(footer);
      await send();
      memory = new Uint8Array(0);
    },
    async abort(): Promise<void> {
      if (upload !== undefined) await store.abandon(upload);
    },
  };
}

/** I6: at most one live upload per vessel-day. What predecessors left open goes before a new one is made. */
export async function abortUploads(store: ObjectStore, day: VesselDay): Promise<void> {
  for await (const upload of store.listUploads(dayPrefix(day)))
    if (parseDayFileKey(upload.key) !== undefined) await store.abandon(upload);
}
