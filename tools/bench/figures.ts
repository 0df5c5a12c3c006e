import type { CallCounts } from './calls.ts';

export interface Figure {
  readonly label: string;
  readonly value: number;
  /** The number of digits behind the decimal point in the table; default 0. */
  readonly digits?: number;
  /** The highest acceptable value; undefined: every value is acceptable. */
  readonly aim?: number | undefined;
}

/** The figures of one measurement: one column of a table. */
export interface Column {
  readonly name: string;
  readonly figures: readonly Figure[];
  /** The counts of the AWS calls, by the name of the measured phase: `create` or `delete`. */
  readonly calls?: Readonly<Record<string, CallCounts>>;
}

/** Returns the median; for an even number of values, the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** Reports whether the value of a figure, rounded as in the table, exceeds the highest acceptable value. */
export const missesAim = ({ value, digits = 0, aim }: Figure): boolean =>
  aim !== undefined && Number(value.toFixed(digits)) > aim;

/**
 * Returns the columns of the first benchmark run, with each figure replaced by its median over all runs. All runs must
 * have measured the same columns and figures.
 */
export const mediansOf = (runs: readonly (readonly Column[])[]): readonly Column[] =>
  (runs[0] ?? []).map((column, index) => ({
    ...column,
    figures: column.figures.map((figure) => ({
      ...figure,
      value: median(runs.map((run) => valueOf(run[index], figure.label))),
    })),
  }));

const valueOf = (column: Column | undefined, label: string): number =>
  column?.figures.find((figure) => figure.label === label)?.value ?? Number.NaN;
