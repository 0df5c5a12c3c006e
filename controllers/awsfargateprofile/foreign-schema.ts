import * as E from 'fp-ts/lib/Either.js';
import type { AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { StoreReader } from '../../pkg/kube/store.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { Reconcile, ReconcileContext, Requeue } from '../../pkg/runtime/types.ts';
import type { ServedSchema, ServedVerdict } from '../served-schema.ts';
import { isDeleting } from '../standing.ts';
import type { EventSpec } from './events.ts';
import { eventsOf } from './events.ts';
import type { ProfileObjects } from './objects.ts';
import type { Pass } from './pass.ts';
import { readInputs } from './read.ts';
import type { Why } from './reasons.ts';
import { pollOf, why } from './reasons.ts';
import { statusOf } from './report.ts';
import { goalFor } from './target.ts';

export interface ForeignSchemaOptions {
  readonly clock: Clock;
  readonly profiles: StoreReader;
  readonly clusters: StoreReader;
  readonly controlPlanes: StoreReader;
  readonly objects: Pick<ProfileObjects, 'patchStatus'>;
  readonly schema: Pick<ServedSchema, 'lookLately'>;
  readonly tell: (object: Pick<KubeObject, 'metadata'>, event: EventSpec) => void;
}

/**
 * Passes only while the API server serves the kind with our schema.
 *
 * Under another one an object is not read as it was written, and the first write of it, whatever it is about, loses for
 * good what that schema does not know. So a living object is not written at all, and told of by an event alone; of one
 * that is being deleted somebody waits for the end, and is told in its conditions.
 */
export function underOurSchema(reconcile: Reconcile, options: ForeignSchemaOptions): Reconcile {
  /** Who has been told, by key. */
  const told = new Set<string>();
  return async (key, context) => {
    const reason = objectionOf(await options.schema.lookLately(context.signal));
    if (reason?.reason !== 'ForeignSchema') {
      told.clear();
      return reconcile(key, context);
    }
    const lookup = options.profiles.lookup(key);
    return lookup.kind === 'found'
      ? standStill(options, lookup.object, reason, told, context)
      : reconcile(key, context);
  };
}

/** What a verdict on the served schema has against changing anything in AWS. */
export function objectionOf(verdict: ServedVerdict): Why | undefined {
  switch (verdict.kind) {
    case 'ours':
      return undefined;
    case 'foreign':
      return why('ForeignSchema', verdict);
    case 'unreadable':
      return why('WaitingForAPI', { kind: 'CustomResourceDefinition', why: verdict.why });
  }
}

async function standStill(
  options: ForeignSchemaOptions,
  raw: KubeObject,
  reason: Why,
  told: Set<string>,
  { signal }: ReconcileContext,
): Promise<Requeue> {
  const next: Requeue = { kind: 'after', delay: pollOf(reason, 0), why: reason.reason };
  const decoded = decodeAWSFargateProfile(raw);
  if (E.isLeft(decoded)) return next;
  const object = decoded.right;
  const goal = goalFor(readInputs(object, options));
  if (goal.kind === 'ignore') return { kind: 'done' };
  if (goal.kind === 'paused') return next;
  const pass: Pass = {
    object,
    end: { kind: 'stopped', why: reason },
    trail: [],
    now: options.clock.now(),
    waited: 0,
    attempts: 0,
  };
  const key = keyText(keyOf(object));
  if (isDeleting(object)) {
    const written = await options.objects.patchStatus(object, inForeignTerms(statusOf(pass)), signal);
    if (written === undefined) return { kind: 'conflict' };
  }
  if (!told.has(key)) for (const event of eventsOf(pass)) options.tell(object, event);
  told.add(key);
  return next;
}

/** Cluster API Provider AWS's schema takes no empty message. */
const inForeignTerms = ({ conditions = [], ...status }: AWSFargateProfileStatus): AWSFargateProfileStatus => ({
  ...status,
  conditions: conditions.map(({ message, ...rest }) =>
    message === '' || message === undefined ? rest : { ...rest, message },
  ),
});
