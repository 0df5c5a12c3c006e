import * as E from 'fp-ts/lib/Either.js';
import type { EksClusterName } from '../../../api/names.ts';
import * as aws from '../../../pkg/cloud/index.ts';
import type { Mutation, MutationOutcome } from '../model/change.ts';

/** Makes one change in AWS. No other function changes AWS. */
export async function mutate(
  session: aws.Session,
  cluster: EksClusterName,
  mutation: Mutation,
): Promise<MutationOutcome> {
  const answer = await carryOut(session, cluster, mutation);
  return E.isRight(answer) ? answer.right : outcomeOf(mutation, answer.left);
}

function carryOut(
  { profiles, roles, accessEntries }: aws.Session,
  cluster: EksClusterName,
  mutation: Mutation,
): aws.Call<MutationOutcome> {
  switch (mutation.kind) {
    case 'createProfile':
      return done(profiles.create(mutation.profile), (profile) => ({ profile }));
    case 'deleteProfile':
      return done(profiles.delete(cluster, mutation.name));
    case 'tagProfile':
      return done(profiles.tag(mutation.arn, mutation.tags));
    case 'untagProfile':
      return done(profiles.untag(mutation.arn, mutation.keys));
    case 'createRole':
      return done(roles.create(mutation.role), (role) => ({ role }));
    case 'deleteRole':
      return done(roles.delete(mutation.name));
    case 'setTrust':
      return done(roles.setTrust(mutation.name, mutation.trust));
    case 'setBoundary':
      return done(roles.setBoundary(mutation.name, mutation.policyArn));
    case 'removeBoundary':
      return done(roles.removeBoundary(mutation.name));
    case 'attachPolicy':
      return done(roles.attach(mutation.name, mutation.policyArn));
    case 'detachPolicy':
      return done(roles.detach(mutation.name, mutation.policyArn));
    case 'tagRole':
      return done(roles.tag(mutation.name, mutation.tags));
    case 'untagRole':
      return done(roles.untag(mutation.name, mutation.keys));
    case 'createAccessEntry':
      return done(accessEntries.create(cluster, mutation.principal));
    case 'deleteAccessEntry':
      return done(accessEntries.delete(cluster, mutation.principal));
  }
}

type Done = Extract<MutationOutcome, { kind: 'done' }>;

const done = async <A>(call: aws.Call<A>, made: (a: A) => Omit<Done, 'kind'> = () => ({})): aws.Call<MutationOutcome> =>
  E.map((a: A): MutationOutcome => ({ kind: 'done', ...made(a) }))(await call);

/** EKS answers 409 `ResourceInUseException` in several situations, which only the message distinguishes. */
function outcomeOf(mutation: Mutation, failure: aws.AwsFailure): MutationOutcome {
  if (aws.isClusterNotFound(failure)) return { kind: 'clusterGone' };
  if (aws.isNotFound(failure) && isDeletion(mutation)) return { kind: 'gone' };
  if (mutation.kind === 'createAccessEntry') {
    if (aws.isEntryExisting(failure)) return { kind: 'nameTaken' };
    if (aws.isInvalidPrincipal(failure)) return { kind: 'notVisible' };
  }
  if (aws.isRoleNotVisible(failure)) return { kind: 'notVisible' };
  if (aws.isDeleteConflict(failure) || aws.isConcurrentModification(failure)) return { kind: 'outdated', failure };
  if (aws.isNameTaken(failure)) return { kind: 'nameTaken' };
  const sibling = aws.busySibling(failure);
  if (sibling !== undefined) return { kind: 'siblingBusy', by: sibling.name, doing: sibling.status };
  if (aws.isClusterUpdating(failure) || aws.isClusterNotActive(failure)) return { kind: 'clusterUpdating', failure };
  if (mutation.kind === 'createProfile' && aws.isRoleRejected(failure)) return { kind: 'roleRejected', failure };
  return { kind: 'failed', failure };
}

const isDeletion = ({ kind }: Mutation): boolean =>
  kind === 'deleteProfile' || kind === 'deleteRole' || kind === 'deleteAccessEntry';
