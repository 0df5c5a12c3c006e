import type { Clock } from 'controller-runtime/env';
import { escapeHidden, toPrintableLine } from 'controller-runtime/text';
import type { Progress } from './progress.ts';

/** A command's access to its process. Tests replace it. */
export interface Io {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts at SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readStdin: () => Promise<string>;
  /** The default is false. */
  readonly isTerminal?: boolean;
  /** `undefined` if the command does not show the requests that it waits for. */
  readonly progress?: Progress;
}

/** prometheus-operator's manifests are 4.5 MiB, and Argo CD's are 2 MiB. The YAML parser takes 10 s for 8 MiB. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** Stops reading as soon as the text is too large, so that the caller can refuse it. */
export async function readText(stream: AsyncIterable<string | Buffer>): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    if (text.length > MAX_FILE_BYTES) break;
  }
  return text;
}

/** Ends the command with exit code 1. The message contains the cause and the fix. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** 0 means nothing to do. 2 means findings, such as changes, problems, or a pod that no profile takes. */
export type ExitCode = 0 | 2;

export interface OutputOption {
  readonly output: 'text' | 'json';
}

/** The version of the `-o json` format. New fields do not change it. */
const JSON_VERSION = 1;

/** Prints the answer. @throws after SIGINT and SIGTERM, because a part of the answer may be missing */
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

/** In characters. Users choose the texts, so a longer cell does not widen its column: it shifts the rest of its row. */
const WIDEST_COLUMN = 80;

/** Escapes hidden characters, and pads all columns except the last. */
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
