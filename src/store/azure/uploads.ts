/**
 * Objects of parts on Azure: each part is a block below the object's own name, and the list of blocks is the publication,
 * with its condition. A block's id says whose it is and what it holds:
 *
 *   16 bytes  of the SHA-256 of the upload's nonce: the upload's id
 *    6 bytes  when it was sent, in milliseconds
 *    4 bytes  the part's number
 *   32 bytes  SHA-256 of the part
 *
 * so that a list of ids is a list of bytes, whoever sent what meanwhile. Blocks are seen by nobody; those that no list
 * names vanish with the next publication of that object, or a week after the last was sent. There is no call that drops
 * some: an abandoned upload, which its owner might still publish, is dropped by writing the object as it is once more,
 * and where there is none by an empty blob, marked so that no store of ours sees it, which is removed at once.
 */
import { hash } from 'node:crypto';
import type { Block, BlockList } from '@azure/storage-blob';
import { CommitFailedError } from '../../core/errors.ts';
import { checkNonce, faultOfKey } from '../key.ts';
import { commitUnknown, NONCE_METADATA } from '../remote.ts';
import type { ObjectStore, PartRef, UploadRef, Uploads } from '../store.ts';
import { objectChanged, sizeOf } from '../store.ts';
import { type AzureContainer, transactionalMd5 } from './client.ts';
import { faultOf, isConflict, isMissing, wasRefused } from './errors.ts';
import { listItems } from './lists.ts';
import { askHead, DISCARDED, isHidden, metadataOf, readObject } from './reads.ts';
import { conditionsOf } from './writes.ts';

/** Names of metadata are those of C#. */
const NONCE = NONCE_METADATA.replaceAll('-', '');
const ID_BYTES = 58;
/** Of so few objects all are looked at for blocks; of more only those that have nothing else. */
const FEW = 16;

export function createUploads(azure: AzureContainer): Uploads & Pick<ObjectStore, 'listUploads'> {
  const blob = (key: string) => azure.blob(azure.nameOf(key));

  const isOurs = (head: Awaited<ReturnType<typeof askHead>>, upload: UploadRef, parts: readonly PartRef[]) =>
    head !== undefined &&
    upload.nonce !== '' &&
    metadataOf(head.metadata, NONCE) === upload.nonce &&
    head.contentLength === sizeOf(parts);

  /** Undefined: there is neither an object nor a block. */
  async function blocksOf(key: string, kind: 'all' | 'committed' | 'uncommitted') {
    const target = blob(key);
    return await azure.call('read the blocks of', key, async () => {
      try {
        return await target.getBlockList(kind);
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    });
  }

  const sentOf = (found: BlockList | undefined, upload: UploadRef) =>
    (found?.uncommittedBlocks ?? []).filter(({ name }) => readBlockId(name)?.uploadId === upload.uploadId);

  /** Why a publication that the store refused did nothing: what is missing. */
  async function whyRefused(upload: UploadRef): Promise<CommitFailedError> {
    const isGone = sentOf(await blocksOf(upload.key, 'uncommitted'), upload).length === 0;
    const [code, found] = isGone
      ? ['upload-gone', 'does not exist any more: it was published, abandoned, or older than a week']
      : ['part-mismatch', 'does not hold the parts it is to be published with. Start the upload again'];
    return new CommitFailedError(code, `the upload of ${upload.key} ${found}.`);
  }

  /** Write an object as it is, so that every block below its name goes. */
  async function discardBlocks(key: string, committed: readonly string[]): Promise<void> {
    const head = await askHead(azure, key);
    const target = blob(key);
    if (head === undefined) {
      const options = { ...azure.written, ...conditionsOf(null), metadata: { [DISCARDED]: '1' } };
      const { etag } = await target.commitBlockList([], options);
      await target.delete(conditionsOf(etag));
      return;
    }
    const { metadata = {}, etag } = head;
    const blocks = [...committed];
    if (blocks.length === 0 && (head.contentLength ?? 0) > 0) {
      // It came in one call, as what is small does.
      const { bytes } = (await readObject(azure, key)) ?? {};
      if (bytes === undefined) return;
      const again = { key, uploadId: uploadIdOf(etag), nonce: '' };
      blocks.push(blockId(again, 1, hash('sha256', bytes)));
      await target.stageBlock(blocks[0]!, bytes, bytes.length, {
        ...azure.written,
        ...transactionalMd5(bytes),
      });
    }
    await target.commitBlockList(blocks, { ...azure.written, ...conditionsOf(etag), metadata });
  }

  return {
    async begin(key, nonce) {
      azure.nameOf(key);
      checkNonce(nonce);
      return { key, uploadId: uploadIdOf(nonce), nonce };
    },

    async append(upload, partNumber, bytes) {
      const target = blob(upload.key);
      const sha256 = hash('sha256', bytes);
      const tag = blockId(upload, partNumber, sha256);
      return await azure.call(`send part ${partNumber} of`, upload.key, async () => {
        const options = { ...azure.written, ...transactionalMd5(bytes) };
        azure.expectEncrypted(await target.stageBlock(tag, bytes, bytes.length, options));
        return { partNumber, sizeBytes: bytes.length, sha256, tag };
      });
    },

    /** The same upload when it still holds every one of `parts`: what was sent beyond them goes with the publication. */
    async adopt(upload, parts) {
      const held = new Map(
        sentOf(await blocksOf(upload.key, 'uncommitted'), upload).map(({ name, size }) => [name, size]),
      );
      const isHeld = (part: PartRef) => held.get(part.tag) === part.sizeBytes && isPartOf(upload, part);
      return held.size > 0 && parts.every(isHeld) ? upload : undefined;
    },

    /** Asks the store once: a lost answer is for the caller to look into. */
    async publish(upload, parts, expected) {
      const target = blob(upload.key);
      if (!parts.every((part, at) => part.partNumber === at + 1 && isPartOf(upload, part)))
        throw await whyRefused(upload);
      const metadata = { [NONCE]: upload.nonce };
      const work = async () => {
        const options = { ...azure.written, ...conditionsOf(expected), metadata };
        try {
          const answer = await target.commitBlockList(
            parts.map(({ tag }) => tag),
            options,
          );
          azure.expectEncrypted(answer);
          if (answer.etag && answer.requestId) return;
        } catch (error) {
          const { code, status, text } = faultOf(error);
          if (isConflict(error)) throw objectChanged(upload.key);
          if (code === 'InvalidBlockList' || isMissing(error)) throw await whyRefused(upload);
          if (wasRefused(error)) throw error;
          throw commitUnknown(upload, azure.clean(`${status ?? 'no answer'} ${code} ${text}`));
        }
        const found = await askHead(azure, upload.key);
        if (!isOurs(found, upload, parts))
          throw commitUnknown(upload, 'the answer is not that of a store, and another object is there');
      };
      await azure.call('publish', upload.key, work, 1);
    },

    async publishedBy(upload, parts) {
      if (!isOurs(await askHead(azure, upload.key), upload, parts)) return false;
      const found = await blocksOf(upload.key, 'committed');
      const names = (found?.committedBlocks ?? []).map(({ name }) => name);
      // An id names the digest of what was sent under it, and the store has checked that this is what came.
      return names.length === parts.length && parts.every(({ tag }, at) => tag === names[at]);
    },

    async abandon(upload) {
      const found = await blocksOf(upload.key, 'all');
      if (sentOf(found, upload).length === 0) return;
      const committed = (found?.committedBlocks ?? []).map(({ name }) => name);
      await azure.call('drop the upload of', upload.key, async () => {
        try {
          await discardBlocks(upload.key, committed);
        } catch (error) {
          // Whoever wrote there meanwhile has dropped them.
          if (!isConflict(error) && !isMissing(error)) throw error;
        }
      });
    },

    listUploads: (prefix) => listUploads(prefix),
  };

  async function* listUploads(prefix: string): AsyncGenerator<UploadRef & { startedMs: number }> {
    let seen = 0;
    for await (const items of listItems(azure, prefix, { includeUncommitedBlobs: true }))
      for (const { name, properties, metadata } of items) {
        const key = name.slice(azure.folder.length);
        if (faultOfKey(key) !== undefined) continue;
        // Left by a process that died before it had removed it.
        if (metadataOf(metadata, DISCARDED) !== undefined) await dropMark(key);
        else if (!isHidden(metadata) && (seen++ < FEW || (properties.contentLength ?? 0) === 0))
          yield* uploadsOf(key, (await blocksOf(key, 'uncommitted'))?.uncommittedBlocks ?? []);
      }
  }

  async function dropMark(key: string): Promise<void> {
    const target = blob(key);
    await azure.call('remove', key, async () => {
      try {
        const { etag, metadata } = await target.getProperties();
        if (etag && metadataOf(metadata, DISCARDED) !== undefined) await target.delete(conditionsOf(etag));
      } catch (error) {
        if (!isMissing(error) && !isConflict(error)) throw error;
      }
    });
  }
}

function uploadsOf(key: string, blocks: readonly Block[]): (UploadRef & { startedMs: number })[] {
  const startedMs = new Map<string, number>();
  for (const { name } of blocks) {
    const block = readBlockId(name);
    if (block === undefined) continue;
    startedMs.set(block.uploadId, Math.min(block.sentMs, startedMs.get(block.uploadId) ?? block.sentMs));
  }
  return [...startedMs].map(([uploadId, ms]) => ({ key, uploadId, nonce: '', startedMs: ms }));
}

function uploadIdOf(nonce: string): string {
  return hash('sha256', nonce).slice(0, 32);
}

function blockId({ uploadId }: UploadRef, partNumber: number, sha256: string): string {
  const id = Buffer.alloc(ID_BYTES);
  id.write(uploadId, 0, 16, 'hex');
  id.writeUIntBE(Date.now(), 16, 6);
  id.writeUInt32BE(partNumber, 22);
  id.write(sha256, 26, 32, 'hex');
  return id.toString('base64');
}

function isPartOf({ uploadId }: UploadRef, { tag, partNumber, sha256 }: PartRef): boolean {
  const block = readBlockId(tag);
  return block?.uploadId === uploadId && block.partNumber === partNumber && block.sha256 === sha256;
}

/** Undefined for a block of somebody else's. */
function readBlockId(name: string) {
  const id = Buffer.from(name, 'base64');
  if (id.length !== ID_BYTES) return undefined;
  return {
    uploadId: id.toString('hex', 0, 16),
    sentMs: id.readUIntBE(16, 6),
    partNumber: id.readUInt32BE(22),
    sha256: id.toString('hex', 26),
  };
}
