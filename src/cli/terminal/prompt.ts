/** Questions to a person at a terminal. What is secret is not echoed. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CancelledError } from '../../core/errors.ts';
import { cleanLines } from '../../core/model/index.ts';
import { echoTo, type Screen, writeText } from './screen.ts';

export type Prompt = ReturnType<typeof openPrompt>;

/** Lines are taken one after the other, those too that were typed ahead. */
export function openPrompt(stdin: NodeJS.ReadStream, screen: Screen, signal: AbortSignal) {
  let isMuted = false;
  const echo = echoTo(screen);
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!isMuted) echo(String(chunk));
      done();
    },
  });
  // The width of lines is the terminal's.
  Object.assign(output, { columns: screen.columns });
  const lines = createInterface({ input: stdin, output, terminal: true, historySize: 0, prompt: '' });
  const typed: string[] = [];
  let waiting: PromiseWithResolvers<string> | undefined;
  let isOver = false;
  const end = () => {
    isOver = true;
    waiting?.reject(new CancelledError('nothing was written: the questions were not answered'));
  };
  lines.on('line', (line) => {
    if (waiting === undefined) typed.push(line);
    else waiting.resolve(line);
    waiting = undefined;
  });
  lines.on('SIGINT', () => lines.close());
  lines.on('close', end);
  const onAbort = () => lines.close();
  signal.addEventListener('abort', onAbort, { once: true });

  async function next(): Promise<string> {
    const known = typed.shift();
    if (known !== undefined) return known;
    waiting = Promise.withResolvers<string>();
    if (isOver) end();
    return await waiting.promise;
  }

  /** The next line; '' is the answer of whoever only presses Enter. Throws CancelledError on Ctrl-C and Ctrl-D. */
  async function ask(question: string, { isSecret = false } = {}): Promise<string> {
    // So that what is typed next is behind it, when a line is drawn again.
    lines.setPrompt(cleanLines(question));
    lines.prompt();
    isMuted = isSecret;
    try {
      return (await next()).trim();
    } finally {
      if (isMuted) {
        isMuted = false;
        writeText(screen, '\n');
      }
    }
  }

  return {
    ask,
    async confirm(question: string, fallback: boolean) {
      const answer = await ask(`${question} [${fallback ? 'Y/n' : 'y/N'}] `);
      return answer === '' ? fallback : /^y(es)?$/i.test(answer);
    },
    close(): void {
      signal.removeEventListener('abort', onAbort);
      lines.off('close', end);
      lines.close();
    },
  };
}
