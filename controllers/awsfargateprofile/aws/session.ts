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
 * Adds what is known only with a session to the facts of an object with spec.eksCluster: whether the operator's limits
 * allow the AWS account, whether a control plane in this account blocks the creation, and whether the EKS cluster is
 * ready. Once the object is provisioned, EKS itself refuses changes that the cluster's status forbids. A Left ends the
 * reconcile.
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
