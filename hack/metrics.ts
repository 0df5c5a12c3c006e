import { Registry } from 'prom-client';
import { newManagerMetrics } from '../cmd/manager/metrics.ts';
import { registerEventLoopMetrics } from '../pkg/runtime/process-metrics.ts';

export interface DocumentedMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** The generator of docs/metrics.md reads the descriptions of the metrics, but no values. */
const noDelays = (): never => {
  throw new Error('the delays of the event loop are not measured');
};

/** The metrics that the manager registers, sorted by name. */
export function documentedMetrics(): readonly DocumentedMetric[] {
  const registry = new Registry();
  newManagerMetrics(registry);
  registerEventLoopMetrics(registry, noDelays);
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

/** The table of docs/metrics.md. */
export const metricsTable = (): string =>
  ['| Metric | Type | Labels | Meaning |', '|---|---|---|---|', ...documentedMetrics().map(row)].join('\n');
