/** Questions to a person at a terminal. Secrets are not echoed. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CancelledError } from '../../core/errors.ts';
import { cleanLines } from '../../core/model/index.ts';
import { echoTo, type Screen, writeText } from './screen.ts';

export type Prompt = ReturnType<typeof openPrompt>;

/** Lines are read one after the other, including those that were typed ahead. */
export function openPrompt(stdin: NodeJS.ReadStream, screen: Screen, signal: AbortSignal) {
  let isMuted = false;
  const echo = echoTo(screen);
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!isMuted) echo(String(chunk));
      done();
    },
  });
  // Lines have the width of the terminal.
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

  /** The next line; '' if the person only presses Enter. Throws CancelledError on Ctrl-C and Ctrl-D. */
  async function ask(question: string, { isSecret = false } = {}): Promise<string> {
    // The question becomes the prompt, so that it stays when the line is redrawn.
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
