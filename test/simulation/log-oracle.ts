/** The log of a table, for readers of versions within the retention: what may go of it, and what its checkpoints say. */
import { readParquet, type TableReader } from './reader.ts';
import type { Change } from './world.ts';

const FILE = /_delta_log\/(\d{20})\.(json|checkpoint\.parquet)$/;
const LAST = /_delta_log\/_last_checkpoint$/;
const USUAL_MS = 30 * 86_400_000;

export class LogOracle {
  readonly #retentionMs: number;
  /** Version → when its entry came; those that are there. */
  readonly #entries = new Set<number>();
  readonly #cameMs = new Map<number, number>();
  readonly #checkpoints = new Set<number>();
  /** Version → files, as the entries have it. */
  readonly #files = new Map<number, string>();
  /** The checkpoint that is named. */
  newest = -1;

  constructor(retentionMs = USUAL_MS) {
    this.#retentionMs = retentionMs;
  }

  /** Then an entry before it is nothing that anybody needs. */
  get hasCheckpoint(): boolean {
    return this.#checkpoints.size > 0;
  }

  /** Before the table takes the change. Throws where a version is lost that somebody may read, or a checkpoint is wrong. */
  async take({ key, bytes, atMs }: Change, table: TableReader): Promise<void> {
    if (LAST.test(key) && bytes) {
      this.newest = JSON.parse(Buffer.from(bytes).toString()).version;
      this.#expectReadable(atMs);
    }
    const match = FILE.exec(key);
    if (match === null) return;
    const [version, isEntry] = [Number(match[1]), match[2] === 'json'];
    this.#files.set(table.version, [...table.files.keys()].sort().join('\n'));
    if (bytes === undefined) {
      (isEntry ? this.#entries : this.#checkpoints).delete(version);
      return this.#expectReadable(atMs);
    }
    (isEntry ? this.#entries : this.#checkpoints).add(version);
    if (isEntry && !this.#cameMs.has(version)) this.#cameMs.set(version, atMs);
    if (isEntry) return;
    const found = await filesIn(bytes);
    if (found !== this.#files.get(version))
      throw new Error(`3: the checkpoint of version ${version} has other files than its entries`);
  }

  /** 8: from a checkpoint, or from the first entry, to each version that was the newest within the retention. */
  #expectReadable(atMs: number): void {
    const versions = [...this.#cameMs.keys()].sort((a, b) => a - b);
    const newest = versions.at(-1) ?? -1;
    const isOld = (version: number) => this.#cameMs.get(version)! <= atMs - this.#retentionMs;
    const oldest = Math.max(0, ...versions.filter(isOld));
    const hasAll = (base: number) => {
      for (let version = base + 1; version <= newest; version++)
        if (!this.#entries.has(version)) return false;
      return true;
    };
    const bases = [-1, ...this.#checkpoints];
    if (this.newest >= 0 && !(this.#checkpoints.has(this.newest) && hasAll(this.newest)))
      throw new Error(`8: version ${newest} cannot be read from checkpoint ${this.newest}, which is named`);
    if (!bases.some((base) => base <= oldest && hasAll(base)))
      throw new Error(`8: version ${oldest} is within the retention, and cannot be read any more`);
  }
}

async function filesIn(bytes: Uint8Array): Promise<string> {
  const rows = await readParquet<{ readonly add?: { readonly path: string } }>(bytes);
  const paths = rows.flatMap(({ add }) => (add?.path ? [add.path] : []));
  return paths.sort().join('\n');
}
