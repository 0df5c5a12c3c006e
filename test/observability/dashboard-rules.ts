// Prints the queries of the Grafana dashboard as Prometheus recording rules, so that promtool checks their syntax.
import { stringify } from 'yaml';
import { dashboardQueries } from './queries.ts';

const rules = dashboardQueries().map(({ expr }, index) => ({ record: `dashboard:query:${index}`, expr }));
process.stdout.write(stringify({ groups: [{ name: 'dashboard', rules }] }));
