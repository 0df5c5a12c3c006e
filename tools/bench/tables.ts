import { missesAim, type Column, type Figure } from './figures.ts';

/**
 * Returns a Markdown table with one row per label, in the order of first appearance, and one column per measurement.
 * The second column shows the highest acceptable value of each figure. A figure above this value is bold.
 */
export function figureTable(columns: readonly Column[]): string {
  const labels = [...new Set(columns.flatMap(({ figures }) => figures.map(({ label }) => label)))];
  const rows = labels.map((label) => {
    const figures = columns.map((column) => column.figures.find((figure) => figure.label === label));
    return [label, aimsOf(figures), ...figures.map(cellOf)];
  });
  return markdown(['', 'Aim', ...columns.map(({ name }) => name)], rows);
}

function aimsOf(figures: readonly (Figure | undefined)[]): string {
  const aims = figures.flatMap((figure) => (figure?.aim === undefined ? [] : [figure.aim]));
  return [...new Set(aims)].map((aim) => (aim === 0 ? '0' : `≤ ${aim}`)).join(', ');
}

function cellOf(figure: Figure | undefined): string {
  if (figure === undefined || Number.isNaN(figure.value)) return '';
  const text = figure.value.toFixed(figure.digits ?? 0);
  return missesAim(figure) ? `**${text}**` : text;
}

/**
 * Returns a Markdown table of the AWS calls. Each row is an operation with one of its answers. Each column is a
 * measured phase, `create` or `delete`, of one measurement.
 */
export function callTable(columns: readonly Column[]): string {
  const phases = columns.flatMap(({ name, calls = {} }) =>
    Object.entries(calls).map(([phase, counts]) => ({ name: `${name}: ${phase}`, counts })),
  );
  const kinds = new Set(
    phases.flatMap(({ counts }) =>
      Object.entries(counts.byOperation).flatMap(([operation, outcomes]) =>
        Object.keys(outcomes).map((outcome) => `${operation} ${outcome}`),
      ),
    ),
  );
  const rows = [...kinds].toSorted().map((kind) => {
    const [operation = '', outcome = ''] = kind.split(' ');
    return [operation, outcome, ...phases.map(({ counts }) => String(counts.byOperation[operation]?.[outcome] ?? 0))];
  });
  return markdown(['Operation', 'Answer', ...phases.map(({ name }) => name)], rows);
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(3, name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
