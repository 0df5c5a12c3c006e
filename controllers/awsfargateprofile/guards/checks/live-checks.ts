import * as E from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';
import type { KubeClient, ObjectKey, Resource } from '../../../../pkg/kube/types.ts';
import type { ServedSchema } from '../../../shared/crd/served-schema.ts';
import { findLiveBlocker } from '../../../shared/live-profiles.ts';
import { isCreation, isDestructive } from '../../model/mutation.ts';
import { reasonForSchema } from '../../reasons/reason-for-crd.ts';
import { newReason } from '../../reasons/reasons.ts';
import { type Check, stop } from '../guards.ts';

/** An outdated answer could lead to a deletion that cannot be undone. */
export interface LiveChecks {
  /** Returns why nothing may be deleted in AWS for the object now. */
  findBlocker(object: AWSFargateProfile, signal: AbortSignal): Promise<string | undefined>;
}

export interface LiveCheckSources {
  readonly client: KubeClient;
  readonly clusters: () => Resource | undefined;
  /** The Cluster whose pause is a pause of the object too; Left while this is not known. */
  readonly clusterKeyOf: (object: AWSFargateProfile) => E.Either<string, ObjectKey | undefined>;
}

export const newLiveChecks = (sources: LiveCheckSources): LiveChecks => ({
  findBlocker: async (object, signal) => {
    const cluster = sources.clusterKeyOf(object);
    return E.isLeft(cluster)
      ? cluster.left
      : findLiveBlocker(sources.client, sources.clusters(), object, cluster.right, signal);
  },
});

export interface LiveGuardServices {
  readonly live: LiveChecks;
  readonly schema: Pick<ServedSchema, 'check'>;
}

export const newLiveGuards = (services: LiveGuardServices): readonly Check[] => [
  noLiveBlocker(services),
  schemaIsOurs(services),
];

/** The cache may not show yet that the object is paused, changed, gone or being moved. */
export function noLiveBlocker({ live }: Pick<LiveGuardServices, 'live'>): Check {
  return async (mutation, { object, signal }) => {
    if (!isDestructive(mutation)) return undefined;
    const because = await live.findBlocker(object, signal);
    return because === undefined ? undefined : stop(newReason('NotNow', { because }));
  };
}

/**
 * Another CRD hides the fields that it lacks, so the spec may ask for something else than the API server shows. The check at
 * the start of the pass may be outdated by now.
 */
export function schemaIsOurs({ schema }: Pick<LiveGuardServices, 'schema'>): Check {
  return async (mutation, { signal }) => {
    const isGuarded = isDestructive(mutation) || isCreation(mutation);
    const reason = isGuarded ? reasonForSchema(await schema.check(signal)) : undefined;
    return reason && stop(reason);
  };
}
