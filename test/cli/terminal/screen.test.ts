import { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { formatTable } from '../../../src/cli/terminal/format.ts';
import type { Screen } from '../../../src/cli/terminal/screen.ts';
import {
  createBar,
  openScreen,
  paint,
  writeFields,
  writeJson,
  writeLines,
  writeText,
} from '../../../src/cli/terminal/screen.ts';
import { systemClock } from '../../../src/core/model/index.ts';
import { hostileNames, longName, unseenIn } from '../../helpers/hostile-text.ts';

function screenOf(more: Partial<Screen>): Screen & { text: string } {
  return {
    text: '',
    write(text) {
      this.text += text;
    },
    ...more,
  };
}

const ALL = Object.values(hostileNames).join('|');

test.for([{}, { isTTY: true, columns: 60 }])('no way to a screen lets through what steers it: %o', (more) => {
  const screen = screenOf(more);
  writeText(screen, `${ALL}\n`);
  writeLines(screen, `${ALL}\n`);
  writeFields(screen, [ALL, 'meaning']);
  writeJson(screen, { [ALL]: ALL }, 2);
  createBar(screen, systemClock).print(ALL);
  expect(unseenIn(screen.text.replaceAll('\n', '').replaceAll('\t', ''))).toEqual([]);
});

test('a bar is drawn, and what it says steers nothing', () => {
  const screen = screenOf({ isTTY: true, columns: 400 });
  createBar(screen, systemClock).draw(() => ALL, true);
  expect(screen.text.startsWith('\r\u001b[2K')).toBe(true);
  expect(unseenIn(screen.text.slice('\r\u001b[2K'.length))).toEqual([]);
});

test('colours of our own reach a screen that has them, others do not', () => {
  const [colour, plain] = [screenOf({ colour: true }), screenOf({})];
  for (const screen of [colour, plain])
    writeText(screen, `${paint(screen, 'red', 'failed:')} \u001b[44m\u001b[2Jx\u001b[5m\n`);
  expect(colour.text).toBe('\u001b[31mfailed:\u001b[39m  [44m [2Jx [5m\n');
  expect(plain.text).toBe('failed:  [44m [2Jx [5m\n');
});

test('JSON on a screen is exact', () => {
  const screen = screenOf({});
  writeJson(screen, { name: longName });
  expect(JSON.parse(screen.text)).toEqual({ name: longName });
});

test('a cell of a table is one bounded line', () => {
  const [head, row] = formatTable([
    ['name', 'rows'],
    [`${longName}\nforged  5`, 7],
  ]).split('\n');
  expect(head).toMatch(/^name +rows$/);
  expect(row).toMatch(/ {2}7$| +7$/);
  expect(row!.length).toBeLessThan(11_000);
});

test('a pipe that nobody reads yet is waited for, and not once nobody reads any more', async () => {
  let take: () => void = () => {};
  const stream = new Writable({
    highWaterMark: 8,
    write(_chunk, _encoding, done) {
      take = done;
    },
  });
  stream.on('error', () => {});
  const screen = openScreen(stream as unknown as NodeJS.WriteStream, true);
  screen.write('four');
  expect(screen.taken?.()).toBeUndefined();
  screen.write('more than there is room for');
  let isTaken = false;
  const taken = screen.taken?.()?.then(() => {
    isTaken = true;
  });
  expect(taken).toBeDefined();
  take();
  await nextTurn();
  expect(isTaken).toBe(false);
  take();
  await taken;
  screen.write('more than there is room for');
  const never = screen.taken?.();
  stream.destroy(new Error('gone'));
  await never;
  expect(screen.taken?.()).toBeUndefined();
});
