import type { CallCounts } from './calls.ts';
import { serialSeconds, type Measurement } from './run.ts';
import { writesOf } from './usage.ts';

/** A line of the table: one number of each run, of which the median is shown. */
interface Row {
  readonly label: string;
  readonly aim?: string;
  readonly of: (measurement: Measurement) => number;
  readonly digits?: number;
}

const profilesOf = ({ scenario }: Measurement): number => scenario.clusters * scenario.profilesEach;
const withoutPolls = ({ total, polls }: CallCounts): number => total - polls;

const ROWS: readonly Row[] = [
  { label: 'Profiles', of: profilesOf },
  { label: 'A creation or deletion takes EKS, s', of: ({ scenario }) => scenario.lifecycleMs / 1000 },
  { label: 'Serial limit of EKS, s', of: ({ scenario }) => serialSeconds(scenario) },
  { label: 'All Ready after, s', of: ({ create }) => create.seconds, digits: 2 },
  {
    label: '… over the serial limit',
    aim: '≤ 1.10',
    of: ({ create, scenario }) => create.seconds / serialSeconds(scenario),
    digits: 2,
  },
  {
    label: 'AWS calls a profile, without polls',
    aim: '≤ 8',
    of: (m) => withoutPolls(m.create.calls) / profilesOf(m),
    digits: 1,
  },
  { label: 'Polls a profile', of: (m) => m.create.calls.polls / profilesOf(m), digits: 1 },
  { label: 'Failed AWS calls', aim: '0', of: (m) => m.create.calls.failed + m.delete.calls.failed },
  { label: 'Throttled AWS calls', of: (m) => m.create.calls.throttled + m.delete.calls.throttled },
  { label: 'API server: writes a profile', of: (m) => writesOf(m.create) / profilesOf(m), digits: 1 },
  { label: 'API server: refused requests', of: ({ create }) => create.refused },
  { label: 'CPU from their creation until all are Ready, s', of: ({ create }) => create.cpuSeconds, digits: 2 },
  { label: 'Peak memory of the manager, MiB', aim: '≤ 120', of: ({ peakMiB }) => peakMiB },
  { label: 'At rest: writes to the API server', aim: '0', of: ({ idle }) => idle.writes },
  { label: 'At rest: changes in AWS', aim: '0', of: ({ idle }) => idle.calls.mutations },
  { label: 'At rest: CPU a comparison with AWS, ms', of: idleMilliseconds, digits: 1 },
  { label: 'Killed and started again: settled after, s', of: ({ restart }) => restart.seconds, digits: 2 },
  { label: '… AWS calls', of: ({ restart }) => restart.calls.total },
  { label: '… writes to the API server', aim: '0', of: ({ restart }) => restart.writes },
  { label: 'All deleted after, s', of: (m) => m.delete.seconds, digits: 2 },
  {
    label: '… over the serial limit',
    aim: '≤ 1.10',
    of: (m) => m.delete.seconds / serialSeconds(m.scenario),
    digits: 2,
  },
  { label: '… AWS calls a profile, without polls', of: (m) => withoutPolls(m.delete.calls) / profilesOf(m), digits: 1 },
];

/** Each comparison of an object at rest reads its profile once. */
function idleMilliseconds({ idle }: Measurement): number {
  const comparisons = sum(Object.values(idle.calls.byOperation['eks:DescribeFargateProfile'] ?? {}));
  return (1000 * idle.cpuSeconds) / Math.max(1, comparisons);
}

/** Markdown: a column for each scenario, the medians of its runs. */
export function summaryTable(scenarios: readonly (readonly Measurement[])[]): string {
  const names = scenarios.map((runs) => runs[0]?.scenario.name ?? '');
  return markdown(
    ['', 'Aim', ...names],
    ROWS.map(({ label, aim = '', of, digits = 0 }) => [
      label,
      aim,
      ...scenarios.map((runs) => median(runs.map(of)).toFixed(digits)),
    ]),
  );
}

/** Markdown: how often each operation ended how, while all were created and while all were deleted. */
export function callTable(scenarios: readonly (readonly Measurement[])[]): string {
  const phases = (['create', 'delete'] as const).flatMap((phase) =>
    scenarios.map((runs) => ({ phase, runs, name: `${runs[0]?.scenario.name ?? ''}: ${phase}` })),
  );
  const kinds = new Set(
    phases.flatMap(({ phase, runs }) =>
      runs.flatMap((run) =>
        Object.entries(run[phase].calls.byOperation).flatMap(([operation, outcomes]) =>
          Object.keys(outcomes).map((outcome) => `${operation} ${outcome}`),
        ),
      ),
    ),
  );
  const rows = [...kinds].toSorted().map((kind) => {
    const [operation = '', outcome = ''] = kind.split(' ');
    const counts = phases.map(({ phase, runs }) =>
      median(runs.map((run) => run[phase].calls.byOperation[operation]?.[outcome] ?? 0)),
    );
    return [operation, outcome, ...counts.map(String)];
  });
  return markdown(['Operation', 'Answer', ...phases.map(({ name }) => name)], rows);
}

/** Of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
  return (lower + upper) / 2;
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(3, name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
