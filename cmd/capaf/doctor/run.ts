import { styleText } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import type { KubeObject } from 'controller-runtime/client';
import { toPrintableLine } from 'controller-runtime/text';
import { openAws } from '../aws.ts';
import { type ExitCode, type Io, alignColumns, tell } from '../io.ts';
import { openKube } from '../kube.ts';
import type { CommonOptions } from '../program.ts';
import { COLORS, type Result } from '../tree.ts';
import { type ClusterOptions, openWorkloadKubeconfig } from '../workload.ts';
import type { Check } from './check.ts';
import { checkAll } from './checks.ts';
import { readDns } from './dns.ts';
import { findOrphans } from './orphans.ts';
import { readAws } from './read-aws.ts';
import { listAllObjects, readCluster } from './read-cluster.ts';

export interface DoctorOptions extends Omit<CommonOptions, 'namespace'>, Omit<ClusterOptions, 'eksCluster'> {
  readonly managerNamespace: string;
  readonly scanRoles?: boolean;
}

export async function runDoctor(options: DoctorOptions, io: Io): Promise<ExitCode> {
  await using workload = openWorkloadKubeconfig(options, io);
  await using kube = openKube({ ...options, namespace: options.clusterNamespace }, io);
  await using aws = openAws(options, io);
  const cluster = await readCluster(kube.client, options.managerNamespace, io.signal);
  const dns = await readDns({ ...options, workload }, kube, io);
  const facts = await readAws(aws, cluster, options.scanRoles === true, io.clock.now());
  // The objects are listed again after AWS was read, so that resources of a new object do not count as orphans.
  const objects = await listAllObjects(kube.client, io.signal);
  const orphans = E.isLeft(facts.caller)
    ? E.left('nothing in AWS is seen without credentials')
    : E.map((listed: readonly KubeObject[]) => findOrphans(facts, listed))(objects);
  const checks = checkAll({ cluster, aws: facts, dns, orphans }, io.clock.now());
  const isSound = checks.every(({ result }) => result !== 'problem' && result !== 'warning');
  return tell(io, options, { checks }, render(checks), isSound);
}

export function render(checks: readonly Check[]): string {
  const number = (wanted: Result): number => checks.filter(({ result }) => result === wanted).length;
  const verdict = `problems: ${number('problem')}, warnings: ${number('warning')}, not checked: ${number('unchecked')}, ok: ${number('ok')}`;
  const rows = alignColumns(checks.map(({ name, result, message }) => [result, name, message]));
  const lines = [styleText('bold', verdict)];
  for (const [index, { group, result, fix }] of checks.entries()) {
    if (checks[index - 1]?.group !== group) lines.push('', styleText('bold', group));
    lines.push(`  ${(rows[index] ?? '').replace(result, (word) => styleText(COLORS[result], word))}`);
    if (fix !== undefined) lines.push(`    → ${toPrintableLine(fix)}`);
  }
  return `${lines.join('\n')}\n`;
}
