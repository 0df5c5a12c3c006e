import type { LogKeys, Logger } from '../log/logger.ts';

export interface LoggedLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly keys: LogKeys;
  readonly error?: unknown;
}

/** Stores its lines. A logger returned by `with` stores its lines in the same list. */
export class MemoryLogger implements Logger {
  readonly lines: LoggedLine[];
  private readonly context: LogKeys;

  constructor(lines: LoggedLine[] = [], context: LogKeys = {}) {
    this.lines = lines;
    this.context = context;
  }

  info(message: string, keys?: LogKeys): void {
    this.lines.push({ level: 'info', message, keys: { ...this.context, ...keys } });
  }

  debug(message: string, keys?: LogKeys): void {
    this.lines.push({ level: 'debug', message, keys: { ...this.context, ...keys } });
  }

  warn(message: string, keys?: LogKeys): void {
    this.lines.push({ level: 'warn', message, keys: { ...this.context, ...keys } });
  }

  error(message: string, error: unknown, keys?: LogKeys): void {
    this.lines.push({ level: 'error', message, error, keys: { ...this.context, ...keys } });
  }

  with(keys: LogKeys): MemoryLogger {
    return new MemoryLogger(this.lines, { ...this.context, ...keys });
  }

  linesWith(message: string): readonly LoggedLine[] {
    return this.lines.filter((line) => line.message === message);
  }
}
