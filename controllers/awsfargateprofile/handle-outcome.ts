import type { Denial } from '../../pkg/cloud/errors/denial.ts';
import { readDenial } from '../../pkg/cloud/errors/denial.ts';
import { describeFailure, isAccessDenied, isRefused } from '../../pkg/cloud/errors/errors.ts';
import type { AwsFailure } from '../../pkg/cloud/errors/failure.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import { roleOwnership } from '../../pkg/fargate/ownership.ts';
import { findSelectorProblem } from '../../pkg/fargate/selectors.ts';
import { isRecordKey } from '../../pkg/fargate/tags/added-record.ts';
import { apply, markAccessEntryRefused } from './aws/apply-outcome.ts';
import { callContext, endForFailure } from './aws/failure-reasons.ts';
import { findRole } from './decide/compare.ts';
import type { PassState } from './guards/pass-state.ts';
import type { Mutation } from './model/mutation.ts';
import { isAccessEntryMutation, isCreation, resourceOf } from './model/mutation.ts';
import type { Observed } from './model/observed-state.ts';
import type { MutationOutcome } from './model/outcome.ts';
import type { DroppedPass, PassEnd } from './model/pass.ts';
import { stoppedBy } from './model/pass.ts';
import { describeTransit } from './model/eks-change-in-progress.ts';
import type { Reason, TagChange } from './reasons/reasons.ts';
import { inconsistentAnswers, newReason, pollOf } from './reasons/reasons.ts';
import { updatePauseAfter } from './retry/cluster-update-pause.ts';
import { withCreateOutcome } from './retry/create-visibility.ts';
import { TRUST_PATIENCE, VISIBILITY_PATIENCE } from './retry/propagation-patience.ts';
import { waitedFor } from './retry/retry-state.ts';
import { mutationKey, withRefusal } from './retry/refused-mutations.ts';
import { isRetryOfFailedProfile, withAttempt } from './retry/failed-profile-backoff.ts';

/**
 * Applies the outcome of a change in AWS to the state of the reconcile. Returns how the reconcile ends, or `undefined`
 * if it continues.
 */
export function handleOutcome(
  pass: PassState,
  mutation: Mutation,
  outcome: MutationOutcome,
  clock: Clock,
): PassEnd | DroppedPass | undefined {
  const now = clock.monotonic();
  if (mutation.kind === 'createProfile') pass.retry.update((state) => withCreateOutcome(state, pass, outcome));
  switch (outcome.kind) {
    case 'done':
    case 'gone':
    case 'clusterGone':
      if (isRetryOfFailedProfile(mutation, pass.observed)) {
        pass.retry.update((state) => withAttempt(state, generationOf(pass)));
      }
      changeObserved(pass, mutation, (observed) => apply(observed, mutation, outcome));
      return undefined;
    case 'nameTaken':
    case 'notVisible': {
      const detail = 'AWS says that it exists and also that it does not exist, for more than two minutes';
      return stoppedBy(contradictionReason(pass, resourceOf(mutation), detail, now));
    }
    case 'outdated':
      return stoppedBy(contradictionReason(pass, resourceOf(mutation), describeFailure(outcome.failure), now));
    case 'siblingBusy': {
      const doing = describeTransit(outcome.doing) ?? outcome.doing;
      return stoppedBy(newReason('WaitingForSibling', { ahead: outcome.by, doing, isUnverified: true }));
    }
    case 'clusterUpdating':
      return stoppedBy(
        newReason('ClusterUpdating', {
          cluster: pass.target.eksCluster,
          said: describeFailure(outcome.failure),
          remaining: updatePause(pass, now),
        }),
      );
    case 'roleRejected':
      return stoppedBy(trustReason(pass, `EKS says: ${outcome.failure.message}`, now));
    case 'failed':
      if (isAccessEntryMutation(mutation) && isRefused(outcome.failure)) {
        const refusal = describeFailure(outcome.failure);
        changeObserved(pass, mutation, (observed) => markAccessEntryRefused(observed, mutation.principal, refusal));
        return undefined;
      }
      return handleFailure(pass, mutation, outcome.failure, now);
  }
}

/**
 * Applies `change` to the observed state of AWS. If the mutation changes the EKS access entry of which the retry state
 * has a copy, also updates the copy, because later reconciles use it instead of reading the entry again.
 */
export function changeObserved(pass: PassState, mutation: Mutation, change: (observed: Observed) => Observed): void {
  pass.observed = change(pass.observed);
  if (!isAccessEntryMutation(mutation)) return;
  const entry = pass.observed.accessEntries?.find(({ principal }) => principal === mutation.principal);
  if (entry === undefined) return;
  pass.retry.update((state) => {
    const known = state.accessEntry;
    return known?.entry.principal === entry.principal ? { ...state, accessEntry: { ...known, entry } } : state;
  });
}

/**
 * Returns for how long the controller sends no change of a Fargate profile, after EKS has answered that it is updating
 * the EKS cluster.
 */
export function updatePause(pass: PassState, now: Ms): Ms {
  return updatePauseAfter(waitedFor(pass.retry.state, { name: 'ClusterUpdating' }, now));
}

/**
 * Returns the reason to wait while answers of AWS contradict each other about whether a resource exists. `detail` is
 * the text for the user if the contradiction lasts.
 */
function contradictionReason({ retry }: PassState, resource: string, detail: string, now: Ms): Reason {
  const propagating = inconsistentAnswers(resource);
  return waitedFor(retry.state, propagating, now) < VISIBILITY_PATIENCE
    ? propagating
    : newReason('AWSError', { detail: `${resource}: ${detail}` });
}

/**
 * Returns the reason to stop after EKS has rejected the role. EKS sends the same error for a wrong trust policy and for
 * a trust policy that IAM has not propagated yet. So the reason is a wrong trust policy only if EKS still rejects the
 * role two minutes after it first did.
 */
function trustReason(pass: PassState, problem: string, now: Ms): Reason {
  const { retry, desired, observed } = pass;
  const role = desired.wanted?.role;
  const generation = generationOf(pass);
  const known = retry.state.trustRejected;
  const trustRejected = known?.generation === generation ? known : { generation, since: now };
  retry.update((state) => ({ ...state, trustRejected }));
  if (now - trustRejected.since < TRUST_PATIENCE) {
    const detail = `EKS does not accept pod execution role "${role?.name}" yet. ${problem.replace(/\.$/, '')}. After a change in IAM, EKS may answer like this for two minutes`;
    return newReason('Propagating', { detail });
  }
  const found = role && findRole(observed.roles, role.name);
  const ours = found !== undefined && roleOwnership(found, desired.identity).kind === 'ours';
  return newReason('RoleTrustInvalid', { name: role?.name ?? '', problem, ours });
}

/**
 * Returns how the reconcile ends after a failed change. Also records the change, so that no reconcile sends it again
 * before its backoff is over. A change that the manager itself has stopped is not recorded.
 */
function handleFailure(pass: PassState, mutation: Mutation, failure: AwsFailure, now: Ms): PassEnd | DroppedPass {
  const { retry, target, session, desired } = pass;
  const { abandonment, recorded, wanted } = desired;
  const subnets = wanted?.profile.subnetSource;
  const denial = readDenial(failure.message);
  const end = isSubnetChoiceDenied(mutation, failure, denial)
    ? stoppedBy(newReason('SubnetChoiceDenied', { detail: describeFailure(failure), denial }))
    : endForFailure(
        failure,
        callContext(target, {
          session,
          abandonment,
          subnets,
          isProvisioned: recorded.isProvisioned,
          resource: isCreation(mutation) ? undefined : resourceOf(mutation),
          violation: mutation.kind === 'createProfile' ? findSelectorProblem(mutation.profile.selectors) : undefined,
        }),
      );
  if (end.kind !== 'stopped') return end;
  const tags = tagChangeIn(mutation);
  const isDenied = tags !== undefined && end.reason.name === 'AccessDenied';
  const reason = isDenied ? newReason('AccessDenied', { ...end.reason.facts, tags }) : end.reason;
  retry.update((state) => {
    const notBefore = now + pollOf(reason, waitedFor(state, reason, now));
    const key = mutationKey(mutation, target.identity);
    return withRefusal(state, { mutation: key, reason, generation: generationOf(pass), notBefore }, now);
  });
  return stoppedBy(reason);
}

/** Returns the tags that a call sets or removes, for a message; `undefined` for a call that changes more than tags. */
function tagChangeIn(mutation: Mutation): TagChange | undefined {
  switch (mutation.kind) {
    case 'tagProfile':
    case 'tagRole':
      return describeTags(mutation, 'set', Object.keys(mutation.tags));
    case 'untagProfile':
    case 'untagRole':
      return describeTags(mutation, 'remove', mutation.keys);
    default:
      return undefined;
  }
}

/** The tag in which the controller records its additions goes along with the tags of the user, and is left out. */
function describeTags(
  { kind, name }: Pick<Mutation, 'kind'> & { readonly name: string },
  change: TagChange['change'],
  all: readonly string[],
): TagChange {
  const ofUser = all.filter((key) => !isRecordKey(key));
  const resource = `${kind === 'tagRole' || kind === 'untagRole' ? 'IAM role' : 'Fargate profile'} "${name}"`;
  return { change, keys: ofUser.length > 0 ? ofUser : all, resource };
}

/**
 * Whether AWS refused to create a profile because the caller lacks an EC2 permission. EKS chooses the subnets of a new
 * profile with the EC2 permissions of the caller.
 */
const isSubnetChoiceDenied = (mutation: Mutation, failure: AwsFailure, { action = '' }: Denial): boolean =>
  mutation.kind === 'createProfile' &&
  mutation.profile.subnets.length === 0 &&
  isAccessDenied(failure) &&
  action.startsWith('ec2:');

const generationOf = ({ object }: PassState): number => object.metadata.generation ?? 0;
