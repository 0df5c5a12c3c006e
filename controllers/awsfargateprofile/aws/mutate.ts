import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { EksClusterName } from '../../../api/names.ts';
import {
  busySibling,
  isClusterNotActive,
  isClusterNotFound,
  isClusterUpdating,
  isConcurrentModification,
  isDeleteConflict,
  isEntryExisting,
  isInvalidPrincipal,
  isNameTaken,
  isNotFound,
  isRoleNotVisible,
  isRoleRejected,
} from '../../../pkg/cloud/index.ts';
import type { AwsFailure, Session, Call } from '../../../pkg/cloud/index.ts';
import type { Mutation } from '../model/mutation.ts';
import type { MutationOutcome } from '../model/outcome.ts';

const DONE: MutationOutcome = { kind: 'done' };

/** No other function changes AWS. */
export async function mutate(session: Session, cluster: EksClusterName, mutation: Mutation): Promise<MutationOutcome> {
  const answer = await carryOut(session, cluster, mutation)();
  return E.isRight(answer) ? answer.right : outcomeOf(mutation, answer.left);
}

function carryOut(
  { profiles, roles, accessEntries }: Session,
  cluster: EksClusterName,
  mutation: Mutation,
): Call<MutationOutcome> {
  switch (mutation.kind) {
    case 'createProfile':
      return pipe(
        profiles.create(mutation.profile),
        TE.map((profile): MutationOutcome => ({ kind: 'done', profile })),
      );
    case 'deleteProfile':
      return done(profiles.delete(cluster, mutation.name));
    case 'tagProfile':
      return done(profiles.tag(mutation.arn, mutation.tags));
    case 'untagProfile':
      return done(profiles.untag(mutation.arn, mutation.keys));
    case 'createRole':
      return pipe(
        roles.create(mutation.role),
        TE.map((role): MutationOutcome => ({ kind: 'done', role })),
      );
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
      return pipe(
        accessEntries.create(cluster, mutation.principal),
        TE.map((accessEntry): MutationOutcome => ({ kind: 'done', accessEntry })),
      );
    case 'deleteAccessEntry':
      return done(accessEntries.delete(cluster, mutation.principal));
  }
}

const done = (call: Call<void>): Call<MutationOutcome> => TE.map(() => DONE)(call);

/** EKS answers 409 `ResourceInUseException` in several situations, which only the message distinguishes. */
function outcomeOf(mutation: Mutation, failure: AwsFailure): MutationOutcome {
  if (isClusterNotFound(failure)) return { kind: 'clusterGone' };
  if (isNotFound(failure) && isDeletion(mutation)) return { kind: 'gone' };
  if (mutation.kind === 'createAccessEntry') {
    if (isEntryExisting(failure)) return { kind: 'nameTaken' };
    if (isInvalidPrincipal(failure)) return { kind: 'notVisible' };
  }
  if (isRoleNotVisible(failure)) return { kind: 'notVisible' };
  if (isDeleteConflict(failure) || isConcurrentModification(failure)) return { kind: 'outdated', failure };
  if (isNameTaken(failure)) return { kind: 'nameTaken' };
  const sibling = busySibling(failure);
  if (sibling !== undefined) return { kind: 'siblingBusy', by: sibling.name, doing: sibling.status };
  if (isClusterUpdating(failure) || isClusterNotActive(failure)) return { kind: 'clusterUpdating', failure };
  if (mutation.kind === 'createProfile' && isRoleRejected(failure)) return { kind: 'roleRejected', failure };
  return { kind: 'failed', failure };
}

const isDeletion = ({ kind }: Mutation): boolean =>
  kind === 'deleteProfile' || kind === 'deleteRole' || kind === 'deleteAccessEntry';
