import type { Clock } from 'controller-runtime/env';
import { escapeHidden, toPrintableLine } from 'controller-runtime/text';
import type { Progress } from './progress.ts';

/** A command's access to its process, which tests replace. */
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

/**
 * The largest file that is read. The manifests of prometheus-operator have 4.5 MiB, those of Argo CD 2. The YAML parser
 * needs 10 s for 8 MiB.
 */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** Reads a text. Stops reading as soon as it is too large, so that the caller can refuse it. */
export async function readText(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    if (text.length > MAX_FILE_BYTES) break;
  }
  return text;
}

/** An error that ends the command with exit code 1. The message contains the cause and the fix. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** 0: nothing to do; 2: findings, such as changes, problems, or a pod that no profile takes. */
export type ExitCode = 0 | 2;

export interface OutputOption {
  readonly output: 'text' | 'json';
}

/** The version of the output of `-o json`. Fields may be added without a new version. */
const JSON_VERSION = 1;

/** @throws after SIGINT and SIGTERM, because a part of the answer may be missing */
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

/** In characters. A longer cell shifts only the rest of its own row, because users choose the texts of the cells. */
const WIDEST_COLUMN = 80;

/** Returns lines with aligned columns, for any texts. The last column is not padded. */
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
