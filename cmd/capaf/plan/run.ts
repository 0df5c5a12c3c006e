import { styleText } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import { keyOf } from 'controller-runtime/client';
import { toPrintableLine } from 'controller-runtime/text';
import type { FargateSelector } from '../../../pkg/cloud/index.ts';
import { describeSelectors } from '../../../pkg/fargate/selectors.ts';
import { FALLBACK_REGION, attempt, openAws } from '../aws.ts';
import { readManagerSettings } from '../deployment.ts';
import { type ExitCode, Failure, type Io, tell } from '../io.ts';
import { type KubeAccess, openKube } from '../kube.ts';
import { CHOOSE_OBJECTS, listObjects, requireOneNamespace } from '../objects.ts';
import type { CommonOptions } from '../program.ts';
import { openWorkloadKubeconfig } from '../workload.ts';
import { dryRun, readManifests } from './manifests.ts';
import type { ChangedField } from './planned-aws.ts';
import { type Outcome, startPlanner } from './planner.ts';
import { type ObjectWithPods, type RunningPods, addPods } from './pods.ts';

export interface PlanOptions extends CommonOptions {
  readonly filename?: readonly string[];
  readonly allNamespaces?: boolean;
  readonly delete?: boolean;
  readonly workloadKubeconfig?: string;
  readonly managerNamespace: string;
}

export async function runPlan(names: readonly string[], options: PlanOptions, io: Io): Promise<ExitCode> {
  const { filename = [] } = options;
  requireObjects(names, options);
  await using workload = openWorkloadKubeconfig(options, io);
  const manifests = await readManifests(filename, io);
  if (manifests.length === 0 && filename.length > 0)
    throw new Failure(`there is no AWSFargateProfile in ${filename.join(', ')}`);
  await using kube = openKube(options, io);
  await using aws = openAws(options, io);
  const stop = new AbortController();
  const signal = AbortSignal.any([io.signal, stop.signal]);
  try {
    const { limits, region, unseen } = await readManagerSettings(kube.client, options.managerNamespace, signal);
    const managerRegion = region ?? aws.region;
    const { client } = kube;
    const planner = await startPlanner({
      client,
      sessions: aws.sessions,
      limits,
      managerRegion,
      clock: io.clock,
      signal,
    });
    const ofFiles = manifests.map((manifest) => {
      const key = { namespace: manifest.namespace ?? kube.namespace, name: manifest.name };
      return { manifest, key, live: planner.live(key) };
    });
    const dryRuns = options.delete === true ? [] : ofFiles;
    const answers = await Promise.allSettled(
      dryRuns.map(({ manifest, key, live }) => dryRun(client, manifest, live, key, signal)),
    );
    for (const answer of answers) {
      if (answer.status === 'rejected') throw answer.reason;
      planner.apply(answer.value);
    }
    const keys =
      filename.length === 0 ? await findObjects(names, options, kube, signal) : ofFiles.map(({ key }) => key);
    if (options.delete === true) await Promise.all(keys.map((key) => planner.remove(key)));
    const session = await attempt(() => aws.open(managerRegion ?? FALLBACK_REGION));
    if (E.isLeft(session)) throw new Failure(`there is no plan without AWS: ${session.left}`);
    const { account } = session.right;
    const notes = unseen === undefined ? [] : [unseen];
    const planned = await planner.plan(keys, account);
    const objects = await addPods(planned, notes, { kube, options: { ...options, workload } }, io);
    const text = describePlan(objects, account, notes);
    return tell(io, options, { account, objects, notes }, text, objects.every(isAtRest));
  } finally {
    stop.abort(new Error('the plan is made'));
  }
}

function requireObjects(
  names: readonly string[],
  { filename = [], allNamespaces, delete: deletes }: PlanOptions,
): void {
  if (names.length > 0 && filename.length > 0) throw new Failure('name objects, or files with -f, but not both');
  requireOneNamespace(names, allNamespaces);
  if (deletes === true && names.length + filename.length === 0)
    throw new Failure('--delete needs the names of the objects, or files with -f');
}

async function findObjects(names: readonly string[], options: PlanOptions, kube: KubeAccess, signal: AbortSignal) {
  const namespace = options.allNamespaces === true ? undefined : kube.namespace;
  const keys = (await listObjects(kube.client, { namespace, names }, signal)).map(keyOf);
  if (keys.length > 0) return keys.filter(({ name }) => names.length === 0 || names.includes(name));
  const where =
    namespace === undefined ? 'any namespace; choose a --context' : `namespace ${namespace}; ${CHOOSE_OBJECTS}`;
  throw new Failure(`there is no AWSFargateProfile in ${where}, or manifests with -f`);
}

const isAtRest = ({ changes, end }: ObjectWithPods): boolean => changes.length === 0 && end.ready === 'True';

/** Escapes names, values, and messages, because they come from users and AWS and can contain any text. */
export function describePlan(objects: readonly ObjectWithPods[], account: string, notes: readonly string[]): string {
  const changes = objects.reduce((sum, each) => sum + each.changes.length, 0);
  const verdict =
    changes === 0 ? 'no changes' : `${count(changes, 'change')} in AWS account ${toPrintableLine(account)}`;
  const lines = [styleText('bold', `Plan for ${count(objects.length, 'AWSFargateProfile')}: ${verdict}`)];
  for (const object of objects) lines.push('', ...describeObject(object));
  for (const note of notes) lines.push('', `${styleText('yellow', 'Note')} ${toPrintableLine(note)}`);
  return `${lines.join('\n')}\n`;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

function describeObject(object: ObjectWithPods): readonly string[] {
  const { namespace, name, changes, then, end, overlaps, pausedBy } = object;
  const described = changes.map(({ operation, resource, fields, after, pods }, index) => [
    ...(after === changes[index - 1]?.after ? [] : [`  ${toPrintableLine(`when ${after}:`)}`]),
    `  ${toPrintableLine(`${index + 1}. ${operation} ${resource}`)}`,
    ...fields.flatMap(describeField),
    ...(pods === undefined ? [] : describePods(pods)).map((line) =>
      styleText('red', `       ${toPrintableLine(line)}`),
    ),
  ]);
  const paused = `Paused by ${pausedBy.join(' and ')}. This is the plan for the end of the pause`;
  const atOnce = changes.filter(({ after }) => after === undefined).length;
  return [
    styleText('bold', toPrintableLine(`${namespace}/${name}`)),
    ...(pausedBy.length === 0 ? [] : [`  ${styleText('yellow', toPrintableLine(paused))}`]),
    ...described.slice(0, atOnce).flat(),
    describeOutcome('then', then),
    ...described.slice(atOnce).flat(),
    ...(end.reason !== then.reason || end.message !== then.message ? [describeOutcome('at the end', end)] : []),
    ...(overlaps === undefined ? [] : [`  ${styleText('yellow', 'overlaps')} ${toPrintableLine(overlaps)}`]),
  ];
}

function describeOutcome(when: string, { ready, reason, message }: Outcome): string {
  const color = ready === 'True' ? 'green' : 'yellow';
  const verdict = styleText(color, toPrintableLine(`Ready ${ready}, ${reason}`));
  return `  ${when} ${verdict}${message === '' ? '' : `: ${toPrintableLine(message)}`}`;
}

/** The text says "now", because pods may leave before EKS deletes the profile, for example in a drain. */
function describePods(pods: RunningPods | null): readonly string[] {
  if (pods === null) return ['EKS stops the pods that still run on it. The number of pods is unknown'];
  const { running, withoutOwner } = pods;
  if (running === 0) return ['No pods are running on it'];
  const alone = `Pods without an owner, which no controller recreates: ${withoutOwner.join(', ')}`;
  return [
    `EKS stops the pods that still run on it. Pods now: ${running}`,
    ...(withoutOwner.length === 0 ? [] : [alone]),
  ];
}

function describeField({ name: field, before, after, replaces, uncovered }: ChangedField): readonly string[] {
  const cause = replaces === undefined ? '' : ` (forces the replacement of "${replaces}")`;
  const name = toPrintableLine(`${field}${cause}`);
  if (before === undefined) return [`       ${name}: ${textOf(after)}`];
  return [
    `       ${name}:`,
    styleText('red', `       - ${textOf(before)}`),
    ...(after === undefined ? [] : [styleText('green', `       + ${textOf(after)}`)]),
    ...(uncovered === undefined
      ? []
      : [styleText('yellow', `       ${toPrintableLine(describeUncovered(uncovered))}`)]),
  ];
}

const describeUncovered = (selectors: readonly FargateSelector[]): string =>
  `The new profile does not take pods that match only the old selectors: ${describeSelectors(selectors)}`;

const textOf = (value: unknown): string => toPrintableLine(typeof value === 'string' ? value : JSON.stringify(value));
