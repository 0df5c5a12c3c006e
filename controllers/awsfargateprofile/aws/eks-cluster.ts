import * as E from 'fp-ts/lib/Either.js';
import type { Session } from '../../../pkg/cloud/index.ts';
import { type OperatorLimits, findEksClusterExcess } from '../../../pkg/fargate/operator-limits.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { eksClusterNotAllowed } from '../goal/target-eks-cluster.ts';
import type { ControlPlaneFacts, Target } from '../model/goal-kinds.ts';
import { locationOf } from '../../shared/note.ts';
import { hasChangeInProgress } from '../model/eks-change-in-progress.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { callContext, reasonForFailure } from './failure-reasons.ts';

const ACTIVE = 'ACTIVE';

/**
 * Left: the pass must end without another call to AWS. EKS is asked for the status only until the object is
 * provisioned, because EKS itself refuses a later change that the status forbids.
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
  const isProvisioned = object.status?.initialization?.provisioned === true;
  if (facts.creationBlocker !== undefined || isProvisioned || hasChangeInProgress(object)) return E.right(facts);
  const described = await session.clusters.describe(name)();
  if (E.isLeft(described)) return E.left(reasonForFailure(described.left, callContext(target, { session })));
  const status = described.right?.status ?? ACTIVE;
  if (status === ACTIVE) return E.right(facts);
  return E.right({ ...facts, creationBlocker: newReason('WaitingForEKSCluster', { cluster: name, status }) });
}
