import * as E from 'fp-ts/lib/Either.js';
import type { KubeObject } from 'controller-runtime/client';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { credentialsName, type Session, type SessionRequest, type Sessions } from '../../../pkg/cloud/index.ts';
import type { PursueGoal } from '../goal/goal.ts';
import { isAtRest, hasChangeInProgress } from '../model/at-rest.ts';
import { isProvisioned } from '../../shared/object-state.ts';
import { locationOf } from '../../shared/record.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { callContext, reasonForCredentials, reasonForFailure } from './failure-reasons.ts';
import { type OperatorLimits, findEksClusterExcess } from '../../../pkg/fargate/operator-limits.ts';
import { eksClusterNotAllowed, type ControlPlaneFacts, type Target } from '../goal/target.ts';

/**
 * Opens a session with the object's identity. The credentials must belong to the account in which the profile was
 * created.
 */
export async function openSession(
  sessions: Sessions,
  object: AWSFargateProfile,
  { target, abandonment }: Pick<PursueGoal, 'target' | 'abandonment'>,
  {
    latest,
    ...context
  }: Pick<SessionRequest, 'signal' | 'mutationBudget' | 'logger'> & {
    /** Returns the object as the cache has it now. */
    readonly latest: () => KubeObject;
  },
): Promise<E.Either<Reason, Session>> {
  // As soon as the object changes, a resync that waits for the rate limiter gets a higher priority, because the
  // reconcile of the change waits for the end of the resync.
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
  if (E.isLeft(opened)) return E.left(reasonForCredentials(opened.left, callContext(target, { abandonment })));
  const location = locationOf(object);
  const { account } = opened.right;
  if (location.kind !== 'known' || location.account === account) return opened;
  const accounts = { whose: credentialsName(target.identity), recorded: location.account, found: account };
  const isOfObject = target.clusterName === undefined;
  return E.left(newReason('WrongAccount', { ...accounts, abandonment, isOfObject }));
}

const ACTIVE = 'ACTIVE';

/**
 * Completes the facts of an object with spec.eksCluster, whose control plane does not show whether the EKS cluster is
 * ready: checks the limits and blockers of the account, and asks EKS for the status. EKS is asked only until the object
 * is provisioned, because EKS itself refuses a later change that the status forbids. Left: why the reconcile must end
 * without another call to AWS.
 */
export async function completeEksClusterFacts(
  session: Pick<Session, 'account' | 'clusters'>,
  object: AWSFargateProfile,
  target: Target,
  facts: ControlPlaneFacts,
  limits: OperatorLimits,
): Promise<E.Either<Reason, ControlPlaneFacts>> {
  if (facts.isReadinessOfEks !== true) return E.right(facts);
  const { eksCluster: name, region } = target;
  const { account } = session;
  const excess = findEksClusterExcess(limits, object.metadata.namespace, { account, region, name });
  if (excess.length > 0) return E.left(eksClusterNotAllowed(excess));
  const ofAccount = facts.blockersInAccounts?.find((each) => each.account === account);
  if (ofAccount !== undefined && locationOf(object).kind !== 'known') return E.left(ofAccount.blocker);
  if (facts.creationBlocker !== undefined || isProvisioned(object) || hasChangeInProgress(object))
    return E.right(facts);
  const described = await session.clusters.describe(name);
  if (E.isLeft(described)) return E.left(reasonForFailure(described.left, callContext(target, { session })));
  const status = described.right?.status ?? ACTIVE;
  if (status === ACTIVE) return E.right(facts);
  return E.right({ ...facts, creationBlocker: newReason('WaitingForEKSCluster', { cluster: name, status }) });
}
