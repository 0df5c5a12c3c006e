import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const DIRECTORY = new URL('../../config/observability/', import.meta.url);

/** A query in PromQL, and the name of the alert or of the dashboard panel that uses it. */
export interface Query {
  readonly where: string;
  readonly expr: string;
}

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
}

/** The parts of a Grafana dashboard that have queries. */
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

export const alertRules = (): readonly AlertRule[] =>
  (
    parse(readFileSync(new URL('alerts.yaml', DIRECTORY), 'utf8')) as { groups: { rules: AlertRule[] }[] }
  ).groups.flatMap(({ rules }) => rules);

export const readDashboard = (): Dashboard =>
  JSON.parse(readFileSync(new URL('dashboard.json', DIRECTORY), 'utf8')) as Dashboard;

/** The queries of the dashboard's panels, with values in place of Grafana's variables. */
export const dashboardQueries = (): readonly Query[] =>
  readDashboard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      where: title,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    })),
  );
