import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { parse } from 'yaml';
import { PROFILE_PHASES } from '../../controllers/awsfargateprofile/report/metrics.ts';
import { REASONS } from '../../controllers/awsfargateprofile/reasons/reasons.ts';
import { documentedMetrics } from '../../hack/metrics.ts';
import { type Query, alertRules, dashboardQueries, readDashboard } from './queries.ts';

/**
 * The keywords and functions that the PromQL queries use. Of the other words in a query, the test knows label names by
 * their position, and takes the rest for names of metrics.
 */
const WORDS = 'sum max min by and or on absent vector time rate increase changes histogram_quantile'.split(' ');
/** The labels that Prometheus adds to the metrics that it scrapes. */
const SCRAPED = ['instance'];
const SUFFIXES: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'] };

/** The Prometheus series that the manager serves, by name, each with its labels. */
const SERIES = new Map<string, readonly string[]>([
  ...documentedMetrics().flatMap(({ name, type, labels }) =>
    (SUFFIXES[type] ?? ['']).map((suffix): [string, readonly string[]] => [
      name + suffix,
      [...labels, ...(suffix === '_bucket' ? ['le'] : [])],
    ]),
  ),
  ...processSeries().map((name): [string, readonly string[]] => [name, []]),
]);

function processSeries(): readonly string[] {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry.getMetricsAsArray().map(({ name }) => name);
}

interface Used {
  readonly series: readonly string[];
  readonly labels: readonly string[];
}

/** Returns the names of the series and of the labels that a PromQL query uses. */
function namesIn(expr: string): Used {
  const plain = expr.replaceAll(/"[^"]*"/g, '""');
  const labels = [
    ...[...plain.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/)),
    ...[...plain.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)\s*""/g)].map(([, label = '']) => label),
  ];
  const rest = plain
    .replaceAll(/\b(by|on) \([^)]*\)/g, '$1')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '');
  const series = [...rest.matchAll(/[a-zA-Z_:][\w:]*/g)].map(([name]) => name).filter((name) => !WORDS.includes(name));
  return { series, labels };
}

function expectServed({ where, expr }: Query): void {
  const { series, labels } = namesIn(expr);
  expect(series, `${where}: no series in ${expr}`).to.not.deep.equal([]);
  for (const name of series) expect(SERIES.has(name), `${where}: the manager has no metric ${name}`).to.equal(true);
  const known = [...SCRAPED, ...series.flatMap((name) => SERIES.get(name) ?? [])];
  for (const label of labels) expect(known, `${where}: a label of ${expr}`).to.include(label);
}

describe('the dashboard', () => {
  it('asks only for metrics and labels that the manager has', () => {
    expect(dashboardQueries().length).to.be.greaterThan(20);
    dashboardQueries().forEach(expectServed);
  });

  it('shows each metric of this provider', () => {
    const shown = new Set(dashboardQueries().flatMap(({ expr }) => namesIn(expr).series));
    const used = new Set([...shown].map((name) => name.replace(/_bucket$/, '')));
    const ours = documentedMetrics().filter(({ name }) => name.startsWith('capaf_') || name.startsWith('aws_api_'));
    const missing = ours.map(({ name }) => name).filter((name) => !used.has(name));
    // No panel of the dashboard uses the metrics capaf_build_info and capaf_foreign_schema. The dashboard's variable
    // "instance" takes its values from capaf_build_info, and an alert uses capaf_foreign_schema.
    expect(missing).to.deep.equal(['capaf_build_info', 'capaf_foreign_schema']);
  });

  it('takes the replicas from a metric that the manager has', () => {
    const [, metric, label] =
      readDashboard()
        .templating.list.map(({ definition }) => /^label_values\((\w+), (\w+)\)$/.exec(definition ?? ''))
        .find((match) => match !== null) ?? [];
    expect(SERIES.has(metric ?? ''), metric).to.equal(true);
    expect(SCRAPED).to.include(label);
  });

  it('fails the check for a wrong metric or label', () => {
    const check = (expr: string) => () => expectServed({ where: 'x', expr });
    expect(check('sum by (phase) (capaf_awsfargateprofiles{phase="Ready"})')).to.not.throw();
    expect(check('sum(capaf_profiles)')).to.throw('the manager has no metric capaf_profiles');
    expect(check('sum by (name) (capaf_awsfargateprofiles)')).to.throw('a label of');
    expect(check('capaf_awsfargateprofiles{namespace=~"x"}')).to.throw('a label of');
  });
});

describe('the alerts', () => {
  const rules = alertRules();
  const runbooks = readFileSync(new URL('../../docs/runbooks.md', import.meta.url), 'utf8');
  const sections = [...runbooks.matchAll(/^## (Capaf\w+)$/gm)].map(([, name = '']) => name);

  it('ask only for metrics and labels that the manager has', () => {
    for (const { alert, expr } of rules) expectServed({ where: alert, expr });
  });

  it('name only reasons and phases that exist', () => {
    for (const { expr } of rules)
      for (const [, name = ''] of expr.matchAll(/reason="(\w+)"/g)) expect(REASONS).to.have.property(name);
    const phases = rules.flatMap(({ expr }) =>
      [...expr.matchAll(/phase=~?"([^"]+)"/g)].flatMap(([, names = '']) => names.split('|')),
    );
    expect(phases).to.include('Stalled');
    for (const phase of phases) expect(PROFILE_PHASES).to.include(phase);
  });

  it('each have a section in docs/runbooks.md, a severity and a description', () => {
    expect(sections).to.deep.equal(rules.map(({ alert }) => alert));
    for (const { alert, labels, annotations } of rules) {
      expect(annotations['runbook_url'], alert).to.equal(`docs/runbooks.md#${alert.toLowerCase()}`);
      expect(labels['severity'], alert).to.be.oneOf(['critical', 'warning', 'info']);
      expect(annotations, alert).to.include.keys('summary', 'description');
    }
  });

  it('each fire in a test of promtool', () => {
    const text = readFileSync(new URL('alerts.test.yaml', import.meta.url), 'utf8');
    const { tests } = parse(text) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const results = tests.flatMap((test) => test.alert_rule_test);
    for (const wanted of [true, false])
      expect(
        results.filter(({ exp_alerts: alerts }) => alerts.length > 0 === wanted).map(({ alertname }) => alertname),
        wanted ? 'fires' : 'is quiet',
      ).to.include.members(rules.map(({ alert }) => alert));
  });

  it('lead to every reason by docs/runbooks.md', () => {
    // This test checks only that docs/runbooks.md links to the section of each condition reason.
    // test/docs/links.test.ts checks that these sections exist.
    for (const reason of Object.keys(REASONS))
      expect(runbooks).to.include(`[\`${reason}\`](conditions.md#${reason.toLowerCase()})`);
  });
});
