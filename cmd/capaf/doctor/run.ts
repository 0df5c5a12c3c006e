import { AccountId } from '../../../api/names.ts';
import { toPrintableLine } from '../../../pkg/env/printable.ts';
import { partitionOf } from '../../../pkg/fargate/arns.ts';
import { profileNameFor, roleNameFor } from '../../../pkg/fargate/names.ts';
import { NO_LIMITS } from '../../../pkg/fargate/operator-limits.ts';
import type { KubeClient } from '../../../pkg/kube/types.ts';
import { type AwsOptions, type Caller, FALLBACK_REGION, openAws, valueOr } from '../aws.ts';
import {
  type Color,
  type ExitCode,
  type Format,
  type Io,
  alignColumns,
  mapAtMost,
  paint,
  printJson,
  withProgress,
} from '../io.ts';
import { type KubeOptions, openKube } from '../kube.ts';
import { type AwsFacts, type Check, type Result, checkAll } from './checks.ts';
import { questionsFor } from './iam-questions.ts';
import { type Orphan, findOrphans } from './orphans.ts';
import { type AwsReader, OTHER_CREDENTIALS, newAwsReader } from './read-aws.ts';
import { type ClusterFacts, decoded, listObjects, readCluster } from './read-cluster.ts';

export interface DoctorOptions extends Pick<KubeOptions, 'kubeconfig' | 'context'>, AwsOptions {
  readonly managerNamespace: string;
  readonly scanRoles?: boolean;
  readonly output: Format;
}

/** 2: there are problems or warnings. */
export async function runDoctor(options: DoctorOptions, io: Io): Promise<ExitCode> {
  const kube = openKube(options, io);
  const aws = openAws(options, io);
  try {
    const cluster = await withProgress(io, `asking the API server ${kube.server}`, () =>
      readCluster(kube.client, options.managerNamespace, io.signal),
    );
    const reader = newAwsReader(aws, io, cluster.clusters);
    const facts = await readAws(reader, kube.client, cluster, options, io.signal);
    const checks = checkAll(cluster, facts, io.clock.now());
    const orphans = valueOr(facts.orphans, []);
    if (options.output === 'json') printJson(io, { checks, orphans });
    else io.out(render(checks, orphans, io));
    return checks.some(({ result }) => result === 'problem' || result === 'warning') ? 2 : 0;
  } finally {
    await Promise.all([kube.close(), aws.close()]);
  }
}

async function readAws(
  reader: AwsReader,
  client: KubeClient,
  cluster: ClusterFacts,
  { scanRoles = false }: DoctorOptions,
  signal: AbortSignal,
): Promise<AwsFacts> {
  const caller = await reader.caller();
  const why = 'nothing in AWS is seen without credentials';
  if (caller.kind === 'unseen')
    return { caller, simulations: [], clusters: [], roles: caller, orphans: { kind: 'unseen', why } };
  const simulations = await simulate(reader, cluster, caller.value);
  const clusters = await reader.clusters(caller.value);
  const notAsked: AwsFacts['roles'] = { kind: 'unseen', why: '--scan-roles looks for them' };
  const roles = scanRoles ? await reader.taggedRoles(caller.value, clusters) : notAsked;
  const profiles = clusters.flatMap((each) => valueOr(each.profiles, []));
  // Listed again after AWS, so that what belongs to an object that was created meanwhile is no orphan.
  const objects = await listObjects(client, signal);
  const orphans: AwsFacts['orphans'] =
    objects.kind === 'seen'
      ? { kind: 'seen', value: findOrphans(profiles, valueOr(roles, []), objects.value) }
      : objects;
  return { caller, simulations, clusters, roles, orphans };
}

/** For each role whose credentials the manager uses. Where its own is not known: for the user or role of the caller. */
function simulate(
  reader: AwsReader,
  { clusters, managers, objects }: ClusterFacts,
  { arn, account }: Caller,
): Promise<AwsFacts['simulations']> {
  const { flags = { limits: NO_LIMITS, reconcilesInstanceGroups: false } } = managers[0] ?? {};
  const [annotated] = managers.flatMap(({ roleArn }) => valueOr(roleArn, undefined) ?? []);
  const own = annotated ?? roleOfSession(arn);
  const users = Map.groupBy(clusters, ({ isManager, roleArn }) => (isManager ? own : (roleArn ?? '')));
  // The credentials of a Secret have no role.
  users.delete('');
  return mapAtMost(1, [...users], async ([principal, named]) => {
    const isGuess = principal === own && annotated === undefined;
    const why = `${principal} is not in account ${account}. ${OTHER_CREDENTIALS}`;
    if (principal.split(':')[4] !== account) return { principal, isGuess, denials: { kind: 'unseen', why } };
    const used = decoded(valueOr(objects, [])).filter(({ metadata: { namespace }, status }) =>
      named.some((each) => each.namespace === namespace && each.name === status?.eksClusterName),
    );
    const questions = named.slice(0, 1).flatMap(({ name: cluster, namespace, region = FALLBACK_REGION }) => {
      const made = used.find(({ status }) => status?.eksClusterName === cluster && status.role?.managed === true);
      const role = made?.status?.role?.name ?? roleNameFor(cluster, profileNameFor({ namespace, name: 'capaf' }));
      const location = { partition: partitionOf(region), region, account: AccountId.of(account) };
      return questionsFor(used, flags, { ...location, cluster, namespace, role });
    });
    return { principal, isGuess, denials: await reader.denials(principal, questions) };
  });
}

/** IAM simulates a role and not its session. The role may have a path, which the ARN of the session does not show. */
const roleOfSession = (arn: string): string =>
  arn.replace(/^(arn:[^:]+):sts:(:\d+):assumed-role\/([^/]+)\/.*$/, '$1:iam:$2:role/$3');

const COLORS: Readonly<Record<Result, Color>> = { ok: 'green', warning: 'yellow', problem: 'red', unchecked: 'dim' };

export function render(checks: readonly Check[], orphans: readonly Orphan[], io: Pick<Io, 'isColored'>): string {
  const number = (wanted: Result): number => checks.filter(({ result }) => result === wanted).length;
  const verdict = `problems: ${number('problem')}, warnings: ${number('warning')}, not checked: ${number('unchecked')}, ok: ${number('ok')}`;
  const cells = checks.map(({ name, result, message }) => [result, name, message].map(toPrintableLine));
  const rows = alignColumns(cells, '  ');
  const lines = [paint(io, 'bold', verdict)];
  for (const [index, { group, result, cure }] of checks.entries()) {
    if (checks[index - 1]?.group !== group) lines.push('', paint(io, 'bold', group));
    lines.push((rows[index] ?? '').replace(result, (word) => paint(io, COLORS[result], word)));
    if (cure !== undefined && checks[index + 1]?.cure !== cure) lines.push(`    → ${toPrintableLine(cure)}`);
  }
  const intro = 'commands that remove the orphans, for the same credentials (capaf runs none of them)';
  if (orphans.length > 0) lines.push('', paint(io, 'bold', intro));
  for (const { kind, name, eksCluster, commands } of orphans) {
    lines.push(`  # ${toPrintableLine(`${kind} ${name} of ${eksCluster}`)}`);
    lines.push(...commands.map((each) => `  ${toPrintableLine(each)}`));
  }
  return `${lines.join('\n')}\n`;
}
