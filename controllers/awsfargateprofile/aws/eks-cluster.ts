import * as E from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Session } from '../../../pkg/cloud/index.ts';
import { type OperatorLimits, findEksClusterExcess } from '../../../pkg/fargate/operator-limits.ts';
import { isProvisioned } from '../../shared/object-state.ts';
import { locationOf } from '../../shared/record.ts';
import { type CreationFacts, type Target, eksClusterNotAllowed } from '../goal/target.ts';
import { hasChangeInProgress } from '../model/at-rest.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { reasonForFailure } from './failure-reasons.ts';

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
  facts: CreationFacts,
  limits: OperatorLimits,
): Promise<E.Either<Reason, CreationFacts>> {
  if (facts.blockersInAccounts === undefined) return E.right(facts);
  const { eksCluster: name, region } = target;
  const { account } = session;
  const excess = findEksClusterExcess(limits, object.metadata.namespace, { account, region, name });
  if (excess.length > 0) return E.left(eksClusterNotAllowed(excess));
  const ofAccount = facts.blockersInAccounts.find((each) => each.account === account);
  if (ofAccount !== undefined && locationOf(object).kind !== 'known') return E.left(ofAccount.blocker);
  if (facts.creationBlocker !== undefined || isProvisioned(object) || hasChangeInProgress(object))
    return E.right(facts);
  const described = await session.clusters.describe(name);
  if (E.isLeft(described)) return E.left(reasonForFailure(described.left, { target, session }));
  const status = described.right?.status ?? ACTIVE;
  if (status === ACTIVE) return E.right(facts);
  return E.right({ ...facts, creationBlocker: newReason('WaitingForEKSCluster', { cluster: name, status }) });
}
