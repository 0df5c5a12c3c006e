import type { Clock } from 'controller-runtime/env';
import { escapeHidden, toPrintableLine } from 'controller-runtime/text';
import type { Progress } from './progress.ts';

/** What a command uses of the process, so that tests can run it inside their own. */
export interface Io {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts at SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readStdin: () => Promise<string>;
  /** Whether standard output is a terminal; undefined: it is not. */
  readonly isTerminal?: boolean;
  /** The requests that the command waits for. `undefined` if the command does not show them. */
  readonly progress?: Progress;
}

/** The manifests of prometheus-operator have 4.5 MiB, those of Argo CD 2. The parser of YAML needs 10 s for 8 MiB. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** Of a text that is too large, only so much that it can be refused. */
export async function readText(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    if (text.length > MAX_FILE_BYTES) break;
  }
  return text;
}

/** Ends the command with exit code 1. The message names the cause and the fix. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** 0: nothing to do; 2: something to tell, such as changes, a pod that nobody takes, or problems. */
export type ExitCode = 0 | 2;

export interface OutputOption {
  readonly output: 'text' | 'json';
}

/** Of the shapes of `-o json`. The same version may get more fields. */
const JSON_VERSION = 1;

/** @throws at SIGINT and SIGTERM, which may have hidden a part of the answer */
export function tell(
  { out, signal }: Io,
  { output }: OutputOption,
  json: object,
  text: string,
  isFine: boolean,
): ExitCode {
  signal.throwIfAborted();
  const versioned = { version: JSON_VERSION, ...json };
  out(output === 'json' ? `${escapeHidden(JSON.stringify(versioned, undefined, 2))}\n` : text);
  return isFine ? 0 : 2;
}

/** In characters. A longer cell moves the rest of its own row only: users choose the texts of the cells. */
const WIDEST_COLUMN = 80;

/** Lines with aligned columns, of any texts. The last column is as long as it is. */
export function alignColumns(texts: readonly (readonly string[])[]): readonly string[] {
  const rows = texts.map((row) => row.map(toPrintableLine));
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.slice(0, -1).entries())
      widths[column] = Math.max(widths[column] ?? 0, Math.min(cell.length, WIDEST_COLUMN));
  return rows.map((row) => {
    const cells = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)));
    return cells.join('   ').trimEnd();
  });
}
