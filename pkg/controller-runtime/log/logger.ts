export type LogKeys = Readonly<Record<string, unknown>>;

/**
 * Structured logging like Go's logr: a constant message, and the values in `keys`. `error` logs an error with all its
 * causes. `debug` prints only if the manager's flag `--v` is at least 4.
 */
export interface Logger {
  info(message: string, keys?: LogKeys): void;
  debug(message: string, keys?: LogKeys): void;
  warn(message: string, keys?: LogKeys): void;
  error(message: string, error: unknown, keys?: LogKeys): void;
  /** Returns a logger that adds `keys` to each of its lines. */
  with(keys: LogKeys): Logger;
}
