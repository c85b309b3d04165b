/** Structured logs: JSON lines, or short lines for a person at a terminal. */
import { hostname } from 'node:os';
import pino from 'pino';
import { cleanFields, cleanMessage, type Log } from '../core/model/index.ts';
import { currentLogFields } from '../core/model/log-context.ts';

interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly readable: boolean;
  readonly write: (line: string) => void;
  /** Trace that the process works for, where what is being done has no other. */
  readonly traceId?: string | undefined;
}

/** Each line says which process wrote it, and has the fields of `withLogFields`. Whoever logs keeps secrets out of fields. */
export function createLog(options: LogOptions): Log {
  const write = options.readable ? (line: string) => options.write(readableLine(line)) : options.write;
  const ofProcess = options.traceId === undefined ? {} : { traceId: options.traceId };
  const logger = pino(
    {
      level: options.level,
      base: { worker: `${hostname()}:${process.pid}` },
      // A vessel-day may have a trace of its own.
      mixin: () => ({ ...ofProcess, ...currentLogFields() }),
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: {
        // Whatever is logged, and by whom: foreign text is cleaned and bounded here.
        logMethod([fields, message], method) {
          method.call(this, cleanFields(fields as object), cleanMessage(String(message)));
        },
      },
    },
    { write },
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}

/** `warn  measurements/IMO9321483/2026-01-05  starting clean  reason=…` */
function readableLine(json: string): string {
  const { level, time: _1, worker: _2, traceId: _3, epoch: _4, msg, ...more } = JSON.parse(json);
  const { vesselDay, ...fields } = more;
  const rest = Object.entries(fields).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `${[String(level).padEnd(5), vesselDay, msg, ...rest].filter((part) => part !== undefined).join('  ')}\n`;
}
