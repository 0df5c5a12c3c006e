import * as E from 'fp-ts/lib/Either.js';
import { keyOf, keyText, type ObjectKey, type Resource } from 'controller-runtime/client';
import type { ReconcileContext, Requeue } from 'controller-runtime/controller';
import type { Ms } from 'controller-runtime/env';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { GRANT } from '../shared/api-rejections.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';
import { findLiveBlocker, deleteProfileObject } from '../shared/live-profiles.ts';
import { type ServedSchema, type ServedSchemaState, isLeftToOthers } from '../shared/crd/served-schema.ts';
import { PersistentErrors } from '../shared/persistent-errors.ts';
import { reportRejection, BLOCKED, LEFT_TO_OTHERS } from './requeue.ts';
import { DONE, LEASE_EXPIRED, after, backOff } from '../shared/requeue.ts';

export interface ProfileDeleterOptions extends Pick<ControllerOptions, 'client' | 'clock' | 'leadership' | 'recorder'> {
  /** `undefined` while the API server serves no Clusters. */
  readonly clusterResource: () => Resource | undefined;
  readonly schema: Pick<ServedSchema, 'check'>;
}

/** What the controller remembers of a Cluster until no profile is left to delete. */
interface Teardown {
  /** For each AWSFargateProfile, since when all attempts to delete it have failed. */
  readonly errors: PersistentErrors;
  round: Round;
}

/** One attempt to delete each profile of a Cluster, in batches. */
interface Round {
  /** The name of the last profile that the controller has tried to delete. */
  readonly last: string;
  /** The requeue after the last batch. */
  readonly requeue: Requeue;
  /** The first error that no Event reports. The last batch throws it. */
  readonly failure?: E.Left<unknown>;
}

const NEW_ROUND: Round = { last: '', requeue: DONE };

interface Attempt {
  readonly cluster: ObjectKey;
  /** Describes the control plane or Cluster that is being deleted. */
  readonly cause: string;
  /** A Left contains the error of the check. */
  readonly schema: E.Either<unknown, ServedSchemaState>;
  readonly teardown: Teardown;
}

export class ProfileDeleter {
  private readonly options: ProfileDeleterOptions;
  private readonly teardowns = new Map<string, Teardown>();

  constructor(options: ProfileDeleterOptions) {
    this.options = options;
  }

  /**
   * Deletes one batch in the order of the names, and continues after a failed or blocked deletion. `cause` describes the
   * control plane or Cluster that is being deleted. A Left ends the reconcile.
   * @throws after the last batch, the first error that no Event reports
   */
  async deleteProfiles(
    cluster: ObjectKey,
    profiles: readonly AWSFargateProfile[],
    cause: string,
    context: ReconcileContext,
  ): Promise<E.Either<Requeue, Requeue>> {
    if (profiles.length === 0) {
      this.teardowns.delete(keyText(cluster));
      return E.right(DONE);
    }
    // Under another provider's CRD, the API server drops spec.deletionPolicy, and an AWSFargateProfile with
    // deletionPolicy Retain would be deleted.
    const schema = await this.options.schema.check(context.signal).then(E.right, E.left);
    if (E.isRight(schema) && isLeftToOthers(schema.right)) return E.left(LEFT_TO_OTHERS);
    return this.continueRound(profiles, { cluster, cause, schema, teardown: this.teardownOf(cluster) }, context);
  }

  private teardownOf(cluster: ObjectKey): Teardown {
    const key = keyText(cluster);
    const known = this.teardowns.get(key);
    if (known !== undefined) return known;
    const errors = new PersistentErrors(this.options.clock);
    const teardown: Teardown = { errors, round: NEW_ROUND };
    this.teardowns.set(key, teardown);
    return teardown;
  }

  private async continueRound(
    profiles: readonly AWSFargateProfile[],
    attempt: Attempt,
    context: ReconcileContext,
  ): Promise<E.Either<Requeue, Requeue>> {
    const { clock, leadership } = this.options;
    const { teardown } = attempt;
    const began = clock.monotonic();
    let { round } = teardown;
    teardown.round = NEW_ROUND;
    for (const [index, profile] of profilesAfter(round.last, profiles).entries()) {
      if (leadership.remaining() <= 0) return E.left(LEASE_EXPIRED);
      if (index === BATCH || clock.monotonic() - began >= BATCH_TIME) {
        teardown.round = round;
        return E.left(round.failure === undefined ? after(0, MORE_LEFT) : backOff(MORE_LEFT));
      }
      round = roundAfter(round, profile, await this.tryToDelete(profile, attempt, context));
    }
    if (round.failure !== undefined) throw round.failure.left;
    return E.right(round.requeue);
  }

  /** A Left contains an error that no Event reports. */
  private async tryToDelete(
    profile: AWSFargateProfile,
    attempt: Attempt,
    context: ReconcileContext,
  ): Promise<E.Either<unknown, Requeue>> {
    const { errors } = attempt.teardown;
    const key = keyOf(profile);
    try {
      const requeue = await this.deleteProfile(profile, attempt, context);
      errors.clear(key);
      return E.right(requeue);
    } catch (error) {
      const rejection = errors.failure(key, error);
      if (rejection === undefined) return E.left(error);
      return E.right(reportRejection(this.options.recorder, profile, rejection, context));
    }
  }

  private async deleteProfile(
    profile: AWSFargateProfile,
    { cluster, cause, schema }: Attempt,
    context: ReconcileContext,
  ): Promise<Requeue> {
    const { client, clusterResource, recorder } = this.options;
    const { logger, signal } = context;
    if (E.isLeft(schema)) throw schema.left;
    if (schema.right.kind === 'unreadable')
      return reportRejection(recorder, profile, { message: schema.right.reason, remedy: GRANT }, context);
    const because = await findLiveBlocker(client, clusterResource(), profile, cluster, signal);
    const keys = { AWSFargateProfile: keyOf(profile) };
    if (because !== undefined) {
      logger.info('Not deleting a profile of a cluster that is torn down', { ...keys, because });
      return BLOCKED;
    }
    logger.info('Deleting profile of a cluster that is torn down', { ...keys, cause });
    await deleteProfileObject(client, profile, signal);
    const message = `The controller deletes this AWSFargateProfile, because ${cause} is being deleted`;
    recorder.record(profile, 'Normal', 'DeletedWithCluster', message);
    return DONE;
  }
}

/** How many profiles are deleted, with about three requests each, before other Clusters have their turn. */
const BATCH = 50;
/** How long a batch may begin new deletions. A request without an answer takes up to 30 s. */
const BATCH_TIME: Ms = 60_000;

const MORE_LEFT = 'more profiles of the cluster are left to delete';

const profilesAfter = (last: string, profiles: readonly AWSFargateProfile[]): readonly AWSFargateProfile[] =>
  profiles
    .filter(({ metadata }) => metadata.name > last)
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));

function roundAfter(round: Round, { metadata }: AWSFargateProfile, outcome: E.Either<unknown, Requeue>): Round {
  const last = metadata.name;
  if (E.isLeft(outcome)) return { ...round, last, failure: round.failure ?? outcome };
  return { ...round, last, requeue: outcome.right.kind === 'done' ? round.requeue : outcome.right };
}
