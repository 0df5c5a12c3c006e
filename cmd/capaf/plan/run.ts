import { isRecord } from '../../../api/record.ts';
import { PROFILES } from '../../../controllers/shared/live-profiles.ts';
import { toPrintableLine } from '../../../pkg/env/printable.ts';
import { KubeError, isForbidden } from '../../../pkg/kube/errors.ts';
import { keyText } from '../../../pkg/kube/object-key.ts';
import { diffMergePatch } from '../../../pkg/kube/patches.ts';
import type { KubeClient, ObjectKey } from '../../../pkg/kube/types.ts';
import { openAws, readCaller } from '../aws.ts';
import { readManagerSettings } from '../deployment.ts';
import { type ExitCode, Failure, type Io, paint, printJson, withProgress } from '../io.ts';
import { openKube } from '../kube.ts';
import type { CommonOptions } from '../program.ts';
import { type Manifest, readManifests, wishOf } from './manifests.ts';
import type { ChangedField } from './planned-aws.ts';
import { type Outcome, type PlannedObject, Planner, callerSessions } from './planner.ts';

export interface PlanOptions extends CommonOptions {
  readonly filename?: readonly string[];
  readonly allNamespaces?: boolean;
  readonly managerNamespace: string;
}

/** Prints what the controller would do for manifests, or for the named objects, or for all objects of the namespace. */
export async function runPlan(names: readonly string[], options: PlanOptions, io: Io): Promise<ExitCode> {
  const manifests = await readManifests(options.filename ?? [], io);
  if (options.filename !== undefined && manifests.length === 0)
    throw new Failure(`there is no AWSFargateProfile in ${options.filename.join(', ')}`);
  const kube = openKube(options, io);
  const aws = openAws(options, io);
  const stop = new AbortController();
  const signal = AbortSignal.any([io.signal, stop.signal]);
  try {
    return await withProgress(io, `Reading ${kube.server} and AWS`, async () => {
      const settings = await readManagerSettings(kube.client, options.managerNamespace, signal);
      const planner = new Planner({
        client: kube.client,
        clock: io.clock,
        signal,
        sessions: callerSessions(aws, signal),
        limits: settings.limits,
        managerRegion: aws.region ?? settings.region,
      });
      await planner.start();
      const keys: ObjectKey[] = [];
      for (const manifest of manifests) {
        const key = { namespace: manifest.namespace ?? kube.namespace, name: manifest.name };
        planner.apply(await dryRun(kube.client, manifest, key, signal));
        keys.push(key);
      }
      for (const name of names) keys.push({ namespace: kube.namespace, name });
      if (manifests.length === 0 && names.length === 0)
        keys.push(...planner.listKeys(options.allNamespaces === true ? undefined : kube.namespace));
      const caller = await readCaller(aws, settings.region);
      if (caller.kind === 'unseen')
        throw new Failure(`AWS does not accept the credentials, and without AWS there is no plan. ${caller.why}`);
      const { account } = caller.value;
      const objects = await planner.plan(keys, account);
      const notes = settings.unseen === undefined ? [] : [settings.unseen];
      if (options.output === 'json') printJson(io, { account, objects, notes });
      else io.out(describePlan(objects, account, notes, io));
      return objects.every(isAtRest) ? 0 : 2;
    });
  } finally {
    stop.abort(new Error('the plan is made'));
    await Promise.all([kube.close(), aws.close()]);
  }
}

const isAtRest = ({ changes, end }: PlannedObject): boolean => changes.length === 0 && end.ready === 'True';

/**
 * The object that the API server would store. Fields that the manifest does not have are removed from the spec, as by
 * `kubectl replace`; labels and annotations of others stay.
 *
 * @throws Failure with the answer of the API server
 */
async function dryRun(client: KubeClient, manifest: Manifest, key: ObjectKey, signal: AbortSignal) {
  const wish = wishOf(manifest, key);
  try {
    const live = await client.get(PROFILES, key, { signal });
    const options = { dryRun: true, isStrict: true, signal } as const;
    if (live === undefined) return await client.create(PROFILES, key.namespace, wish, options);
    const { labels = {}, annotations = {} } = wish.metadata;
    const spec = diffMergePatch(recordAt(live['spec']), recordAt(wish.spec)) ?? {};
    return await client.mergePatch(PROFILES, key, { metadata: { labels, annotations }, spec }, options);
  } catch (cause) {
    if (!(cause instanceof KubeError)) throw cause;
    const right = ' A dry run needs the right to create and patch awsfargateprofiles, although it changes nothing.';
    const refusal = `${manifest.source}: the API server refuses ${keyText(key)}: ${cause.message}`;
    throw new Failure(isForbidden(cause) ? `${refusal}${right}` : refusal, { cause });
  }
}

const recordAt = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

/** Names, values and messages are texts of users and of AWS. */
export function describePlan(
  objects: readonly PlannedObject[],
  account: string,
  notes: readonly string[],
  io: Pick<Io, 'isColored'>,
): string {
  const changes = objects.reduce((sum, each) => sum + each.changes.length, 0);
  const waiting = objects.filter(({ changes: own, end }) => own.length === 0 && end.ready !== 'True').length;
  const verdict = [
    changes === 0 ? 'no changes' : `${count(changes, 'change')} in AWS account ${toPrintableLine(account)}`,
    ...(waiting === 0 ? [] : [`${count(waiting, 'object')} ${waiting === 1 ? 'waits or needs' : 'wait or need'} you`]),
  ].join(', ');
  const lines = [paint(io, 'bold', `Plan for ${count(objects.length, 'AWSFargateProfile')}: ${verdict}`)];
  for (const object of objects) lines.push('', ...describeObject(object, io));
  for (const note of notes) lines.push('', `${paint(io, 'yellow', 'Note')} ${toPrintableLine(note)}`);
  return `${lines.join('\n')}\n`;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

function describeObject(
  { namespace, name, changes, then, end, overlaps }: PlannedObject,
  io: Pick<Io, 'isColored'>,
): readonly string[] {
  const lines = [paint(io, 'bold', toPrintableLine(`${namespace}/${name}`))];
  const isThenShown = changes.length > 0 || then.ready !== 'True';
  // The first outcome comes before the changes that something in AWS must precede.
  const firstLater = changes.findIndex(({ after }) => after !== undefined);
  const atOnce = firstLater === -1 ? changes.length : firstLater;
  for (let index = 0; index <= changes.length; index++) {
    const change = changes[index];
    if (index === atOnce && isThenShown) lines.push(describeOutcome('  then', then, io));
    if (change === undefined) break;
    if (change.after !== changes[index - 1]?.after) lines.push(`  ${toPrintableLine(`when ${change.after}:`)}`);
    lines.push(`  ${toPrintableLine(`${index + 1}. ${change.operation} ${change.resource}`)}`);
    for (const field of change.fields) lines.push(...describeField(field, io));
  }
  if (end.reason !== then.reason || end.message !== then.message) lines.push(describeOutcome('  at the end', end, io));
  if (!isThenShown) lines.push(`  no changes: ${toPrintableLine(then.reason)}`);
  if (overlaps !== undefined) lines.push(`  ${paint(io, 'yellow', 'overlaps')} ${toPrintableLine(overlaps)}`);
  return lines;
}

function describeOutcome(when: string, { ready, reason, message }: Outcome, io: Pick<Io, 'isColored'>): string {
  const color = ready === 'True' ? 'green' : 'yellow';
  const verdict = paint(io, color, toPrintableLine(`Ready ${ready}, ${reason}`));
  return `${when} ${verdict}${message === '' ? '' : `: ${toPrintableLine(message)}`}`;
}

function describeField({ name: field, before, after }: ChangedField, io: Pick<Io, 'isColored'>): readonly string[] {
  const name = toPrintableLine(field);
  if (before === undefined) return [`       ${name}: ${textOf(after)}`];
  return [
    `       ${name}:`,
    paint(io, 'red', `       - ${textOf(before)}`),
    ...(after === undefined ? [] : [paint(io, 'green', `       + ${textOf(after)}`)]),
  ];
}

const textOf = (value: unknown): string => toPrintableLine(typeof value === 'string' ? value : JSON.stringify(value));
