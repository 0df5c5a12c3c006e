import { styleText } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import { toPrintableLine } from '../../../pkg/env/printable.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import { FALLBACK_REGION, attempt, openAws } from '../aws.ts';
import { readManagerSettings } from '../deployment.ts';
import { type ExitCode, Failure, type Io, tell } from '../io.ts';
import { openKube } from '../kube.ts';
import type { CommonOptions } from '../program.ts';
import { dryRun, readManifests } from './manifests.ts';
import type { ChangedField } from './planned-aws.ts';
import { type Outcome, type PlannedObject, startPlanner } from './planner.ts';

export interface PlanOptions extends CommonOptions {
  readonly filename: readonly string[];
  readonly managerNamespace: string;
}

export async function runPlan(options: PlanOptions, io: Io): Promise<ExitCode> {
  const manifests = await readManifests(options.filename, io);
  if (manifests.length === 0) throw new Failure(`there is no AWSFargateProfile in ${options.filename.join(', ')}`);
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
    const keys: ObjectKey[] = [];
    for (const manifest of manifests) {
      const key = { namespace: manifest.namespace ?? kube.namespace, name: manifest.name };
      planner.apply(await dryRun(client, manifest, key, signal));
      keys.push(key);
    }
    const session = await attempt(() => aws.open(managerRegion ?? FALLBACK_REGION));
    if (E.isLeft(session))
      throw new Failure(`AWS does not accept the credentials, and without AWS there is no plan. ${session.left}`);
    const { account } = session.right;
    const objects = await planner.plan(keys, account);
    const notes = unseen === undefined ? [] : [unseen];
    const text = describePlan(objects, account, notes);
    return tell(io, options, { account, objects, notes }, text, objects.every(isAtRest));
  } finally {
    stop.abort(new Error('the plan is made'));
  }
}

const isAtRest = ({ changes, end }: PlannedObject): boolean => changes.length === 0 && end.ready === 'True';

/** Names, values and messages are texts of users and of AWS. */
export function describePlan(objects: readonly PlannedObject[], account: string, notes: readonly string[]): string {
  const changes = objects.reduce((sum, each) => sum + each.changes.length, 0);
  const verdict =
    changes === 0 ? 'no changes' : `${count(changes, 'change')} in AWS account ${toPrintableLine(account)}`;
  const lines = [styleText('bold', `Plan for ${count(objects.length, 'AWSFargateProfile')}: ${verdict}`)];
  for (const object of objects) lines.push('', ...describeObject(object));
  for (const note of notes) lines.push('', `${styleText('yellow', 'Note')} ${toPrintableLine(note)}`);
  return `${lines.join('\n')}\n`;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

function describeObject({ namespace, name, changes, then, end, overlaps }: PlannedObject): readonly string[] {
  const described = changes.map(({ operation, resource, fields, after }, index) => [
    ...(after === changes[index - 1]?.after ? [] : [`  ${toPrintableLine(`when ${after}:`)}`]),
    `  ${toPrintableLine(`${index + 1}. ${operation} ${resource}`)}`,
    ...fields.flatMap(describeField),
  ]);
  const atOnce = changes.filter(({ after }) => after === undefined).length;
  return [
    styleText('bold', toPrintableLine(`${namespace}/${name}`)),
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

function describeField({ name: field, before, after }: ChangedField): readonly string[] {
  const name = toPrintableLine(field);
  if (before === undefined) return [`       ${name}: ${textOf(after)}`];
  return [
    `       ${name}:`,
    styleText('red', `       - ${textOf(before)}`),
    ...(after === undefined ? [] : [styleText('green', `       + ${textOf(after)}`)]),
  ];
}

const textOf = (value: unknown): string => toPrintableLine(typeof value === 'string' ? value : JSON.stringify(value));
