/** Hostile inputs, how they are sent one after the other, and what is said of them. */

/** One thing that a hostile peer does. */
export interface HostileInput<Face> {
  readonly name: string;
  /** Resolves with what did not hold, in a sentence, or with undefined. What it throws did not hold either. */
  send(face: Face): Promise<string | undefined>;
}

/** Inputs of one kind. */
export interface Category<Face> {
  readonly name: string;
  readonly inputs: readonly HostileInput<Face>[];
  /** Most computing that one of them may cause in the process, in milliseconds; absent: only hanging is a fault. */
  readonly maxCpuMs?: number;
  /** When one of them counts as hanging; default 120 s. */
  readonly hangMs?: number;
}

/** The process that inputs are sent at. */
export interface Target {
  /** What is wrong with the process as a whole after an input: dead, too large, deaf to an honest request. */
  ailment(): Promise<string | undefined>;
  begin(): void;
  peakBytes(): number;
  /** The longest that `/health` took since it began; absent: nobody asks. */
  slowestMs?(): number;
  cpuMs(): number;
  /** After an input that hung or harmed the process: put a new one in its place. */
  recover(): Promise<void>;
}

/** A face and its process; both are other ones after `target.recover`. */
export interface Opened<Face> {
  readonly face: Face;
  readonly target: Target;
}

export interface Sent {
  readonly category: string;
  readonly name: string;
  /** What did not hold; undefined: it held. */
  readonly finding: string | undefined;
  readonly peakBytes: number;
  readonly slowestMs: number;
  readonly elapsedMs: number;
}

const HANG_MS = 120_000;
/** Inputs of each category in the short form. */
const SHORT_FORM = 2;

/** Of each category the whole, or some evenly spread inputs. */
export function chosen<Face>(category: Category<Face>, isShort: boolean): readonly HostileInput<Face>[] {
  const { inputs } = category;
  if (!isShort || inputs.length <= SHORT_FORM) return inputs;
  return Array.from({ length: SHORT_FORM }, (_, i) => inputs[Math.floor((i * inputs.length) / SHORT_FORM)]!);
}

/** Sends the inputs of a category one after the other. `opened` is asked anew for each. */
export async function sendAll<Face>(
  opened: () => Opened<Face>,
  category: Category<Face>,
  { isShort, onSent }: { readonly isShort: boolean; readonly onSent: (sent: Sent) => void },
): Promise<void> {
  for (const input of chosen(category, isShort)) {
    const { face, target } = opened();
    target.begin();
    const [startedMs, cpuBefore] = [performance.now(), target.cpuMs()];
    const { finding, hung } = await outcome(face, input, category.hangMs ?? HANG_MS);
    const cpuMs = target.cpuMs() - cpuBefore;
    const isDear = cpuMs > (category.maxCpuMs ?? Number.POSITIVE_INFINITY);
    const dear = isDear ? `it cost ${cpuMs} ms of computing, more than ${category.maxCpuMs} ms` : undefined;
    const peakBytes = target.peakBytes();
    const slowestMs = target.slowestMs?.() ?? 0;
    const ailment = hung ? undefined : await target.ailment();
    const said = [finding, dear, ailment].filter((part) => part !== undefined).join('; ');
    onSent({
      category: category.name,
      name: input.name,
      finding: said === '' ? undefined : said,
      ...{ peakBytes, slowestMs },
      elapsedMs: performance.now() - startedMs,
    });
    // What one input leaves behind is not to be taken for the fault of the next.
    if (hung || ailment !== undefined) await target.recover();
  }
}

async function outcome<Face>(
  face: Face,
  input: HostileInput<Face>,
  hangMs: number,
): Promise<{ readonly finding: string | undefined; readonly hung: boolean }> {
  const tooLate = Promise.withResolvers<'hung'>();
  const timer = setTimeout(() => tooLate.resolve('hung'), hangMs);
  const sent = input.send(face);
  // It may still fail when nobody waits for it any more.
  sent.catch(() => {});
  try {
    const ended = await Promise.race([sent, tooLate.promise]);
    if (ended === 'hung') return { finding: `no end within ${hangMs / 1000} s`, hung: true };
    return { finding: ended, hung: false };
  } catch (error) {
    return {
      finding: `it failed with ${error instanceof Error ? error.message : String(error)}`,
      hung: false,
    };
  } finally {
    clearTimeout(timer);
  }
}

/** Text as one short line without control characters: inputs and answers are shown so. */
export function shown(text: string, maxChars = 160): string {
  const line = text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return line.length > maxChars ? `${line.slice(0, maxChars)}… (${text.length})` : line;
}
