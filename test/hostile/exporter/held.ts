/** What a command of the exporter may do, whatever its peer says. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { HostileInput } from '../input.ts';
import { shown } from '../input.ts';
import type { CommandEnd } from './exporter-child.ts';
import type { ExporterFace, JobFile, Sandbox } from './exporter-face.ts';
import { DATE, digestOf, filesBelow, NEXT_DATE, READINGS, RUN_ARGS } from './exporter-face.ts';
import type { Plan } from './front.ts';

/** C0 without the end of a line, DEL, C1, and what turns the direction of text: none may reach a terminal. */
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
/** The same, as JSON escapes them: whoever shows a note or a log line gets them back. */
const ESCAPED_CONTROL = /\\u00(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f])/i;
const STACK = /\n\s+at .+[:)]|\\n\s+at .+:\d+:\d+|internal error|"stack"/;
const MAX_OUTPUT_CHARS = 300_000;
const MAX_NOTE_BYTES = 16 * 1024;
const CODES = [0, 1, 2];

/** What is wrong with a command's end and with what it left behind. */
export async function faultOfEnd(
  face: ExporterFace,
  sandbox: Sandbox,
  end: CommandEnd,
): Promise<string | undefined> {
  const { code, stdout, stderr } = end;
  if (!CODES.includes(code)) return `exit code ${code}: ${shown(stderr.slice(-300), 300)}`;
  if (code !== 0 && stdout.trim() === '' && stderr.trim() === '') return `exit code ${code} without a word`;
  for (const [name, text] of [
    ['stdout', stdout],
    ['stderr', stderr],
  ] as const) {
    const stack = STACK.exec(text);
    if (stack !== null)
      return `${name} has a stack trace: ${shown(text.slice(Math.max(0, stack.index - 200)), 400)}`;
    const control = CONTROL.exec(text);
    if (control !== null)
      return `${name} has a control character: ${shown(text.slice(Math.max(0, control.index - 80)), 200)}`;
    if (text.length > MAX_OUTPUT_CHARS) return `${name} has ${text.length} characters`;
    const leak = secretIn(face, text);
    if (leak !== undefined) return `${name} shows ${leak}`;
  }
  return faultOfFolder(face, sandbox);
}

function secretIn(face: ExporterFace, text: string): string | undefined {
  const { clientId, clientSecret } = face.front.credentials;
  if (text.includes(clientSecret)) return 'the client secret';
  if (text.includes(Buffer.from(`${clientId}:${clientSecret}`).toString('base64'))) return 'the credentials';
  if (/eyJ[\w-]{10,}\.[\w-]{10,}/.test(text)) return 'a token';
  return undefined;
}

async function faultOfFolder(
  face: ExporterFace,
  { path, lake, temp, planted }: Sandbox,
): Promise<string | undefined> {
  const beside = (await readdir(path)).sort().join();
  if (beside !== 'canary,jobs,lake,temp') return `files beside the lake: ${beside}`;
  if ((await readFile(join(path, 'canary'), 'utf8')) !== 'sings') return 'a file beside the lake was changed';
  const left = await filesBelow(temp);
  if (left.length > 0) return `temporary files are left: ${shown(left.join())}`;
  for (const file of await filesBelow(lake)) {
    if (file.endsWith('.parquet') || (await stat(file)).size > 64 * 1024 * 1024) continue;
    const bytes = await readFile(file);
    const text = (file.endsWith('.gz') ? unzipped(bytes) : bytes).toString('utf8');
    const leak = secretIn(face, text);
    if (leak !== undefined) return `${file} shows ${leak}`;
    // What was put there before is not of the command's writing.
    if (!file.includes('/_notes/') || planted?.get(file)?.equals(bytes)) continue;
    if (bytes.length > MAX_NOTE_BYTES) return `a note of ${bytes.length} bytes`;
    // An escaped backslash begins no escape: who shows it gets `\u0000` as six letters.
    const unescaped = text.replaceAll('\\\\', '');
    if (CONTROL.test(text.replaceAll('\t', ' ')) || ESCAPED_CONTROL.test(unescaped))
      return `a note has a control character: ${shown(text, 300)}`;
  }
  return undefined;
}

function unzipped(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: 64 * 1024 * 1024 });
  } catch {
    return bytes;
  }
}

export interface PeerOptions {
  readonly job?: JobFile;
  readonly env?: Record<string, string>;
  /** The day cannot be exported: exit code 0 is wrong. */
  readonly mustFail?: boolean;
  /** What the peer says is not wrong: exit code 0 must be. */
  readonly mustWork?: boolean;
  /** The data themselves are other ones, so exit code 0 is right with another object. */
  readonly isOtherData?: boolean;
  /** By the peer's clock the day may not be over: exit code 0 is right without an object, where that is said. */
  readonly mayNotBeDue?: boolean;
  /** Looked at when all is over. */
  readonly check?: (end: CommandEnd) => string | undefined;
}

/** One export against a peer with this plan, and the look at what is left of it. */
export function peer(
  name: string,
  plan: Plan | (() => Plan),
  options: PeerOptions = {},
): HostileInput<ExporterFace> {
  const { job = READINGS, env = {}, mustFail, mustWork, isOtherData, mayNotBeDue, check } = options;
  return {
    name: shown(name),
    async send(face) {
      await using sandbox = await face.sandbox(job);
      face.front.plan = typeof plan === 'function' ? plan() : plan;
      const end = await face.run(sandbox, RUN_ARGS, env);
      const fault = await faultOfEnd(face, sandbox, end);
      if (fault !== undefined) return fault;
      if (end.code === 0 && mustFail === true) return 'exit code 0 where the day cannot be exported';
      if (end.code !== 0 && mustWork === true)
        return `exit code ${end.code}: ${shown(`${end.stdout}${end.stderr.slice(-400)}`, 500)}`;
      if (end.code === 0 && isOtherData !== true) {
        const expected = await face.honestDigest(job);
        const digest = await digestOf(sandbox.lake);
        const isNotDue = mayNotBeDue === true && digest === undefined && /\bnot due\b/.test(end.stdout);
        if (digest !== expected && !isNotDue) return 'exit code 0 with other data than the source has';
      }
      const said = check?.(end);
      if (said !== undefined) return said;
      // What was written down is shown by others too.
      face.front.plan = {};
      const status = await face.run(sandbox, ['status', '--from', DATE, '--to', NEXT_DATE]);
      const shownFault = await faultOfEnd(face, sandbox, status);
      return shownFault && `status afterwards: ${shownFault}`;
    },
  };
}
