/** Values that explain a constant message; nested objects are printed as JSON. */
export type LogKeys = Readonly<Record<string, unknown>>;

/**
 * Structured logging in the manner of logr: a constant message plus keys.
 *
 * `info` with a `v` above the configured verbosity prints nothing. Errors keep their chain of causes.
 */
export interface Logger {
  info(message: string, keys?: LogKeys): void;
  debug(message: string, keys?: LogKeys): void;
  warn(message: string, keys?: LogKeys): void;
  error(message: string, error: unknown, keys?: LogKeys): void;
  /** A logger that adds `keys` to each of its lines. */
  with(keys: LogKeys): Logger;
}
