import type { CallCounts } from './calls.ts';
import type { FairnessMeasurement } from './fairness.ts';
import { serialSeconds, type Measurement } from './run.ts';
import { writesOf } from './manager-usage.ts';

/** One row of the summary table: one measured number; a cell of the row is the median over all runs of one scenario. */
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
  { label: 'EKS creation or deletion time, s', of: ({ scenario }) => scenario.lifecycleMs / 1000 },
  { label: 'Serial limit of EKS, s', of: ({ scenario }) => serialSeconds(scenario) },
  { label: 'All Ready after, s', of: ({ create }) => create.seconds, digits: 2 },
  {
    label: '… over the serial limit',
    aim: '≤ 1.10',
    of: ({ create, scenario }) => create.seconds / serialSeconds(scenario),
    digits: 2,
  },
  { label: 'First create in every cluster after, s', of: ({ create }) => create.firstChangesSeconds, digits: 2 },
  {
    label: 'AWS calls per profile, without polls',
    aim: '≤ 8',
    of: (m) => withoutPolls(m.create.calls) / profilesOf(m),
    digits: 1,
  },
  { label: 'Polls per profile', of: (m) => m.create.calls.polls / profilesOf(m), digits: 1 },
  { label: 'Failed AWS calls', aim: '0', of: (m) => m.create.calls.failed + m.delete.calls.failed },
  { label: 'Throttled AWS calls', of: (m) => m.create.calls.throttled + m.delete.calls.throttled },
  { label: 'API server: writes per profile', of: (m) => writesOf(m.create) / profilesOf(m), digits: 1 },
  { label: 'API server: refused requests', of: ({ create }) => create.refused },
  { label: 'CPU until all are Ready, s', of: ({ create }) => create.cpuSeconds, digits: 2 },
  { label: 'Peak memory of the manager, MiB', aim: '≤ 120', of: ({ peakMiB }) => peakMiB },
  { label: 'Idle: writes to the API server', aim: '0', of: ({ idle }) => idle.writes },
  { label: 'Idle: changes in AWS', aim: '0', of: ({ idle }) => idle.calls.mutations },
  { label: 'Idle: CPU per comparison with AWS, ms', of: idleMilliseconds, digits: 1 },
  { label: 'Restarted after a kill: queue empty after, s', of: ({ restart }) => restart.seconds, digits: 2 },
  { label: '… AWS calls', of: ({ restart }) => restart.calls.total },
  { label: '… writes to the API server', aim: '0', of: ({ restart }) => restart.writes },
  { label: 'All deleted after, s', of: (m) => m.delete.seconds, digits: 2 },
  {
    label: '… over the serial limit',
    aim: '≤ 1.10',
    of: (m) => m.delete.seconds / serialSeconds(m.scenario),
    digits: 2,
  },
  {
    label: '… AWS calls per profile, without polls',
    of: (m) => withoutPolls(m.delete.calls) / profilesOf(m),
    digits: 1,
  },
];

/**
 * Returns the CPU time in milliseconds that an idle manager needs to compare one object with AWS. Each comparison calls
 * DescribeFargateProfile once.
 */
function idleMilliseconds({ idle }: Measurement): number {
  const comparisons = sum(Object.values(idle.calls.byOperation['eks:DescribeFargateProfile'] ?? {}));
  return (1000 * idle.cpuSeconds) / Math.max(1, comparisons);
}

/**
 * Returns a Markdown table of the measured numbers with one column per scenario. A cell is the median over the runs of
 * the scenario.
 */
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

/**
 * Returns a Markdown table that counts the AWS calls by operation and answer, during the creation and the deletion of
 * all profiles.
 */
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

/** Returns a Markdown table of how long a healthy profile takes until it is Ready, as medians over the runs. */
export function fairnessTable(runs: readonly FairnessMeasurement[]): string {
  const alone = median(runs.map(({ aloneSeconds }) => aloneSeconds));
  const beside = median(runs.map(({ besideSeconds }) => besideSeconds));
  return markdown(
    ['', 'Aim', 'Measured'],
    [
      ['Alone: Ready after, s', '', alone.toFixed(2)],
      ['Beside them: Ready after, s', '', beside.toFixed(2)],
      ['… over the time alone', '≤ 1.20', (beside / alone).toFixed(2)],
    ],
  );
}

/** Returns the median; for an even number of values, the mean of the two middle values. */
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
