import * as E from 'fp-ts/lib/Either.js';
import { toUndefined } from 'fp-ts/lib/Option.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { EksClusterName } from '../../api/names.ts';
import {
  busySibling,
  isClusterNotActive,
  isClusterNotFound,
  isClusterUpdating,
  isConcurrentModification,
  isDeleteConflict,
  isNameTaken,
  isNotFound,
  isRoleNotVisible,
  isRolePropagating,
} from '../../pkg/cloud/errors.ts';
import type { AwsFailure } from '../../pkg/cloud/failure.ts';
import type { Call, Session } from '../../pkg/cloud/types.ts';
import type { Mutation, Outcome } from './model.ts';

const DONE: Outcome = { kind: 'done' };

/** The one place from which AWS is changed. What AWS answers becomes an {@link Outcome}; nothing is thrown. */
export async function act(session: Session, cluster: EksClusterName, mutation: Mutation): Promise<Outcome> {
  const answer = await carryOut(session, cluster, mutation)();
  return E.isRight(answer) ? answer.right : outcomeOf(mutation, answer.left);
}

function carryOut({ profiles, roles }: Session, cluster: EksClusterName, mutation: Mutation): Call<Outcome> {
  switch (mutation.kind) {
    case 'createProfile':
      return pipe(
        profiles.create(mutation.profile),
        TE.map((profile): Outcome => ({ kind: 'done', profile })),
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
        TE.map((role): Outcome => ({ kind: 'done', role })),
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
  }
}

const done = (call: Call<void>): Call<Outcome> => TE.map(() => DONE)(call);

/** EKS has one code for three situations (409 `ResourceInUseException`): they are told apart here, for all. */
function outcomeOf(mutation: Mutation, failure: AwsFailure): Outcome {
  if (isClusterNotFound(failure)) return { kind: 'clusterGone' };
  if (isNotFound(failure) && isDeletion(mutation)) return { kind: 'vanished' };
  if (isRoleNotVisible(failure)) return { kind: 'notVisible' };
  if (isDeleteConflict(failure) || isConcurrentModification(failure)) return { kind: 'outdated', failure };
  if (isNameTaken(failure)) return { kind: 'already' };
  const sibling = toUndefined(busySibling(failure));
  if (sibling !== undefined) return { kind: 'siblingBusy', by: sibling.name, doing: sibling.status };
  if (isClusterUpdating(failure) || isClusterNotActive(failure)) return { kind: 'clusterUpdating' };
  if (mutation.kind === 'createProfile' && isRolePropagating(failure)) return { kind: 'rolePropagating', failure };
  return { kind: 'failed', failure };
}

const isDeletion = ({ kind }: Mutation): boolean => kind === 'deleteProfile' || kind === 'deleteRole';
