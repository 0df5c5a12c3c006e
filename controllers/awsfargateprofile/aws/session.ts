import * as E from 'fp-ts/lib/Either.js';
import type { KubeObject } from 'controller-runtime/client';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { credentialsName, type Session, type SessionRequest, type Sessions } from '../../../pkg/cloud/index.ts';
import type { PursueGoal } from '../goal/goal.ts';
import { isAtRest, hasChangeInProgress } from '../model/at-rest.ts';
import { locationOf } from '../../shared/record.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { reasonForCredentials } from './failure-reasons.ts';

/** Fails if the credentials do not belong to the account in which the profile was created. */
export async function openSession(
  sessions: Sessions,
  object: AWSFargateProfile,
  { target, abandonment }: Pick<PursueGoal, 'target' | 'abandonment'>,
  {
    latest,
    ...context
  }: Pick<SessionRequest, 'signal' | 'mutationBudget' | 'logger'> & {
    /** Returns the object's newest version in the cache. */
    readonly latest: () => KubeObject;
  },
): Promise<E.Either<Reason, Session>> {
  // If the object changes while its resync waits for the rate limiter, the resync gets a higher priority, because the
  // reconcile of the change can begin only after the resync.
  const seen = latest();
  const usual = hasChangeInProgress(object) ? 'poll' : isAtRest(seen) ? 'resync' : 'read';
  const opened = await sessions.open({
    ...context,
    region: target.region,
    identity: target.identity,
    identityField: target.clusterName === undefined ? 'eksCluster' : 'controlPlane',
    namespace: object.metadata.namespace,
    readPriority: () => (usual === 'resync' && latest() !== seen ? 'read' : usual),
  });
  if (E.isLeft(opened)) return E.left(reasonForCredentials(opened.left, { target, abandonment }));
  const location = locationOf(object);
  const { account } = opened.right;
  if (location.kind !== 'known' || location.account === account) return opened;
  const accounts = { whose: credentialsName(target.identity), recorded: location.account, found: account };
  const isOfObject = target.clusterName === undefined;
  return E.left(newReason('WrongAccount', { ...accounts, abandonment, isOfObject }));
}
