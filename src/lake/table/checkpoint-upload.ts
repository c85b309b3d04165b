/** A file that is written from its beginning to its end, as parts of one upload: nothing is visible until it is whole. */
import { randomUUID } from 'node:crypto';
import { ByteWriter } from 'hyparquet-writer/src/bytewriter.js';
import type { ObjectStore, PartRef } from '../../store/store.ts';

/** S3's least for all parts but the last. */
const PART_BYTES = 8 << 20;

/** Where hyparquet-writer writes to. */
export interface UploadWriter extends ByteWriter {
  /** Called by it after each row group. */
  flush(): Promise<void>;
  /** Send what is left and make the file visible, where there is none. Throws as `completeUpload`. */
  complete(): Promise<void>;
  abort(): Promise<void>;
}

export async function createUploadWriter(store: ObjectStore, key: string): Promise<UploadWriter> {
  const upload = await store.createUpload(key, randomUUID());
  const parts: PartRef[] = [];
  const writer = new ByteWriter() as UploadWriter;

  async function send(): Promise<void> {
    // A copy: the writer's buffer is written again at once.
    const bytes = writer.getBytes().slice();
    writer.index = 0;
    parts.push(await store.uploadPart(upload, parts.length + 1, bytes));
  }

  writer.flush = async () => {
    if (writer.index >= PART_BYTES) await send();
  };
  writer.complete = async () => {
    await send();
    await store.completeUpload(upload, parts, null);
  };
  writer.abort = () => store.abortUpload(upload);
  return writer;
}
