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
}

export interface Opened<Face> {
  readonly face: Face;
  readonly target: Target;
}

/** A face and its process; both are other ones after `recover`, which follows an input that hung or harmed them. */
export interface Renewed<Face> {
  current(): Opened<Face>;
  recover(): Promise<void>;
}

export async function renewed<Face>(
  start: () => Promise<Opened<Face> & AsyncDisposable>,
): Promise<Renewed<Face> & AsyncDisposable> {
  let started = await start();
  return {
    current: () => started,
    async recover() {
      await started[Symbol.asyncDispose]();
      started = await start();
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
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

/** Of each category the whole, or the one in its middle. */
export function chosen<Face>({ inputs }: Category<Face>, isShort: boolean): readonly HostileInput<Face>[] {
  return isShort ? [inputs[inputs.length >> 1]!] : inputs;
}

/** Sends the inputs of a category one after the other. */
export async function sendAll<Face>(
  opened: Renewed<Face>,
  category: Category<Face>,
  isShort: boolean,
  onSent: (sent: Sent) => void,
): Promise<void> {
  for (const input of chosen(category, isShort)) {
    const { face, target } = opened.current();
    target.begin();
    const [startedMs, cpuBefore] = [performance.now(), target.cpuMs()];
    const { finding, hung } = await outcome(face, input, category.hangMs ?? HANG_MS);
    const cpuMs = target.cpuMs() - cpuBefore;
    const isDear = cpuMs > (category.maxCpuMs ?? Number.POSITIVE_INFINITY);
    const dear = isDear ? `it cost ${cpuMs} ms of computing, more than ${category.maxCpuMs} ms` : undefined;
    const [peakBytes, slowestMs] = [target.peakBytes(), target.slowestMs?.() ?? 0];
    const ailment = hung ? undefined : await target.ailment();
    const said = [finding, dear, ailment].filter((part) => part !== undefined).join('; ');
    onSent({
      ...{ category: category.name, name: input.name, finding: said === '' ? undefined : said },
      ...{ peakBytes, slowestMs, elapsedMs: performance.now() - startedMs },
    });
    // What one input leaves behind is not to be taken for the fault of the next.
    if (hung || ailment !== undefined) await opened.recover();
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

/** The words of a line: inputs without white space. */
export const words = (line: string): string[] => line.split(' ');
