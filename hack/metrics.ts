import { Registry } from 'prom-client';
import { newManagerMetrics } from '../cmd/manager/metrics.ts';

export interface DocumentedMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** Returns the metrics that the manager registers, sorted by name, without prom-client's default metrics. */
export function documentedMetrics(): readonly DocumentedMetric[] {
  const registry = new Registry();
  newManagerMetrics(registry);
  return registry
    .getMetricsAsArray()
    .map((metric) => ({ name: metric.name, help: metric.help, type: String(metric.type), labels: labelsOf(metric) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the label names of a metric, which the types of prom-client do not declare. */
function labelsOf(metric: object): readonly string[] {
  const labels: unknown = 'labelNames' in metric ? metric.labelNames : [];
  return Array.isArray(labels) ? labels.map(String) : [];
}

const sentence = (help: string): string => (help.endsWith('.') ? help : `${help}.`);
const cell = (text: string): string => text.replaceAll(/[|<]/g, String.raw`\$&`);
const row = ({ name, type, labels, help }: DocumentedMetric): string =>
  `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${cell(sentence(help))} |`;

/** Returns the table of docs/metrics.md. */
export const metricsTable = (): string =>
  ['| Metric | Type | Labels | Meaning |', '|---|---|---|---|', ...documentedMetrics().map(row)].join('\n');
