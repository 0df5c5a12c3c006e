import type { Ms } from '../env/clock.ts';
import { formatMilliTime } from '../env/timestamp.ts';
import { errorMessage, errorStack, toJson } from '../text/error-text.ts';
import type { LogKeys } from './logger.ts';
import { escapeHidden, hasHidden } from '../text/printable.ts';

export type Severity = 'error' | 'warn' | 'info' | 'debug';

export interface LogRecord {
  readonly severity: Severity;
  readonly at: Ms;
  readonly message: string;
  readonly keys: LogKeys;
  readonly error?: unknown;
}

const LETTERS: Readonly<Record<Severity, string>> = { error: 'E', warn: 'W', info: 'I', debug: 'I' };
const VERBOSITIES: Readonly<Record<Severity, number>> = { error: 0, warn: 0, info: 0, debug: 4 };

/**
 * Formats a log record in klog's text format, which managers written in Go use, for example:
 * `I1121 03:25:00.123000 1 manager] "Reconciling" Widget="default/batch" reconcileID="…"`. Times are in UTC. The lines
 * of a multi-line value are indented by a tab, so that a value cannot imitate a log line.
 */
export function formatText(record: LogRecord): string {
  const [date = '', time = ''] = formatMilliTime(record.at).split('T');
  const header = `${LETTERS[record.severity]}${date.slice(5).replace('-', '')} ${time.slice(0, 12)}000 ${PID} manager]`;
  const pairs = Object.entries(record.keys).map(([key, value]) => pair(key, value));
  if (record.error !== undefined) {
    const stack = errorStack(record.error);
    pairs.unshift(pair('err', errorMessage(record.error)));
    if (stack !== undefined) pairs.push(pair('stack', stack));
  }
  return escapeHidden([header, quote(record.message), ...pairs.filter((text) => text !== '')].join(' '));
}

/** klog right-aligns the process ID to seven columns. */
const PID = String(process.pid).padStart(7);

function pair(key: string, value: unknown): string {
  if (value === undefined) return '';
  const shown = textValue(value);
  if (typeof shown !== 'string') return `${key}=${shown}`;
  if (!shown.includes('\n')) return `${key}=${quote(shown)}`;
  const lines = shown.split('\n').map((line) => `\t${printable(line)}`);
  return [`${key}=<`, ...lines, ' >'].join('\n');
}

function textValue(value: unknown): string | number | boolean | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null)
    return value;
  if (value instanceof Error) return errorMessage(value);
  if (typeof value === 'bigint') return String(value);
  if (isObjectKey(value)) return value.namespace === '' ? value.name : `${value.namespace}/${value.name}`;
  return toJson(value);
}

/** klog writes a reference to a Kubernetes object as `namespace/name`. */
function isObjectKey(value: unknown): value is { readonly namespace: string; readonly name: string } {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 2) return false;
  return (
    'namespace' in value && 'name' in value && typeof value.namespace === 'string' && typeof value.name === 'string'
  );
}

const quote = (text: string): string => JSON.stringify(text);
const printable = (line: string): string => (hasHidden(line) ? quote(line) : line);

/**
 * Writes the fields of Kubernetes' JSON logging (component-base), a field for each key of the log call, and the fields
 * `level` and `stack`.
 */
export function formatJson(record: LogRecord): string {
  const stack = record.error === undefined ? undefined : errorStack(record.error);
  const fields = {
    ts: record.at,
    level: record.severity,
    msg: record.message,
    v: VERBOSITIES[record.severity],
    err: record.error === undefined ? undefined : errorMessage(record.error),
    ...withoutReserved(record.keys),
    stack,
  };
  // Each field is converted to JSON separately, so that a value without a JSON form does not affect the other fields.
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined);
  return escapeHidden(`{${shown.map(([key, value]) => `${quote(key)}:${toJson(value)}`).join(',')}}`);
}

const RESERVED: readonly string[] = ['ts', 'level', 'msg', 'v', 'err', 'stack'];

function withoutReserved(keys: LogKeys): LogKeys {
  return Object.fromEntries(
    Object.entries(keys).map(([key, value]) => [RESERVED.includes(key) ? `${key}_` : key, value]),
  );
}
