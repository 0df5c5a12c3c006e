import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { MESSAGE } from 'triple-beam';
import winston from 'winston';
import type { Clock } from '../env/clock.ts';
import { formatJson, formatText, type LogRecord, type Severity } from './log-format.ts';
import type { LogKeys, Logger } from './logger.ts';

export type LoggingFormat = 'text' | 'json';

export interface WinstonLoggerOptions {
  readonly clock: Clock;
  readonly format: LoggingFormat;
  /** The same levels as klog's flag `--v`. */
  readonly verbosity: number;
  readonly stream: Writable;
}

export interface ClosableLogger extends Logger {
  /** Also applies to all derived loggers. */
  setVerbosity(verbosity: number): void;
  /** Resolves when all log lines are written. Later lines are written without winston's buffer. */
  flush(): Promise<void>;
}

/** Cluster API's convention (docs/book/src/developer/core/logging.md): 4 is debug, 5 is trace. */
const DEBUG_VERBOSITY = 4;

const SEVERITIES: Readonly<Record<Severity, number>> = { error: 0, warn: 1, info: 2, debug: 3 };

const levelFor = (verbosity: number): Severity => (verbosity >= DEBUG_VERBOSITY ? 'debug' : 'info');

export function createWinstonLogger(options: WinstonLoggerOptions): ClosableLogger {
  const { clock, stream } = options;
  const render = options.format === 'json' ? formatJson : formatText;
  const sink = winston.createLogger({
    levels: SEVERITIES,
    level: levelFor(options.verbosity),
    // Each line is formatted during its log call, with the values of that moment; winston buffers and writes it.
    format: { transform: (entry) => ({ ...entry, [MESSAGE]: entry.message }) },
    transports: [new winston.transports.Stream({ stream, eol: '\n' })],
  });
  let open = true;

  const write = (record: Omit<LogRecord, 'at'>): void => {
    if (!sink.isLevelEnabled(record.severity)) return;
    const line = render({ ...record, at: clock.now() });
    if (open) sink.log({ level: record.severity, message: line });
    else stream.write(`${line}\n`);
  };

  const flush = async (): Promise<void> => {
    if (open) {
      open = false;
      sink.end();
      await once(sink, 'finish');
    }
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  };

  const setVerbosity = (verbosity: number): void => {
    sink.level = levelFor(verbosity);
  };

  const child = (context: LogKeys): ClosableLogger => ({
    info: (message, keys) => write({ severity: 'info', message, keys: { ...context, ...keys } }),
    debug: (message, keys) => write({ severity: 'debug', message, keys: { ...context, ...keys } }),
    warn: (message, keys) => write({ severity: 'warn', message, keys: { ...context, ...keys } }),
    error: (message, error, keys) => write({ severity: 'error', message, error, keys: { ...context, ...keys } }),
    with: (keys) => child({ ...context, ...keys }),
    flush,
    setVerbosity,
  });
  return child({});
}
