import * as E from 'fp-ts/lib/Either.js';
import type { ProfileName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { StoreReader } from '../../pkg/kube/store.ts';
import type { Ticket, Turns } from '../../pkg/runtime/turns.ts';
import { BY_CLUSTER } from '../caches.ts';
import { isDeleting } from '../standing.ts';
import type { Desired, Outcome, Mutation } from './model.ts';
import { subjectOf } from './model.ts';
import { profileNameOf } from './names.ts';
import type { Seen } from './pass.ts';
import { whereaboutsOf } from './whereabouts.ts';

/** The lane that EKS takes changes in: one profile of a cluster at a time. */
export const laneOf = (account: string, region: string, eksCluster: string): string =>
  `${account}/${region}/${eksCluster}`;

/** How the object stands in the lane's line. */
export function ticketOf(object: AWSFargateProfile, lane: string, { wanted, records, owner }: Desired): Ticket {
  return {
    lane,
    id: keyText(keyOf(object)),
    name: wanted?.profile.name ?? records.profileName ?? owner.profileName,
    urgent: isDeleting(object),
    createdAt: object.metadata.creationTimestamp ?? '',
  };
}

/** What a profile of this status keeps EKS busy with, in words; `undefined`: nothing. */
export function doingOf(status: string | undefined): string | undefined {
  if (status === 'CREATING') return 'being created';
  return status === 'DELETING' ? 'being deleted' : undefined;
}

/** By what was last written down EKS is busy with the object's profile. */
export const isInTransit = ({ status }: Pick<AWSFargateProfile, 'status'>): boolean =>
  doingOf(status?.profileStatus) !== undefined;

/** What was seen of the object's own profiles tells the lane whether EKS is busy with them. */
export function tellSeen(turns: Turns, lane: string, { profiles }: Seen): void {
  for (const { name, found } of profiles) {
    const doing = doingOf(found?.status);
    if (doing === undefined) turns.settled(lane, name);
    else turns.busy(lane, name, doing, false);
  }
}

/** EKS's answer says who is in the lane: this profile from now on, or somebody else. */
export function tellAnswer(turns: Turns, ticket: Ticket, mutation: Mutation, outcome: Outcome, pause: number): void {
  if (outcome.kind === 'done') {
    const doing = mutation.kind === 'createProfile' ? 'being created' : 'being deleted';
    // A former profile that makes way has another name than the one that is asked for.
    turns.accepted({ ...ticket, name: subjectOf(mutation) }, doing);
  } else if (outcome.kind === 'siblingBusy') {
    turns.busy(ticket.lane, outcome.by, doingOf(outcome.doing) ?? outcome.doing, true);
  } else if (outcome.kind === 'clusterUpdating') {
    turns.close(ticket.lane, pause);
  }
}

/**
 * After a start the lane is not known, but the siblings' statuses are: one that was in transit when it was last written
 * down may be ahead. That is hearsay: whoever is to wait for it looks at it first, because its own pass may have seen its end
 * already, and its object may be gone by now.
 */
export function tellRecorded(turns: Turns, lane: string, object: AWSFargateProfile, profiles: StoreReader): void {
  if (!turns.isUnknown(lane)) return;
  for (const { status } of siblingsOf(object, profiles)) {
    const { account = '', region = '', eksClusterName = '', profileName, profileStatus } = status ?? {};
    const doing = doingOf(profileStatus);
    if (profileName === undefined || doing === undefined || laneOf(account, region, eksClusterName) !== lane) continue;
    turns.busy(lane, profileName, doing, true);
  }
}

/**
 * The profiles in the lane of which nobody here knows whether EKS is busy with them: something was begun, a move or a restore
 * has dropped the status that said what, and no pass of their own objects has looked since.
 */
export function unseenIn(
  lane: string,
  object: AWSFargateProfile,
  profiles: StoreReader,
  isSeen: (sibling: AWSFargateProfile) => boolean,
): readonly ProfileName[] {
  return siblingsOf(object, profiles)
    .filter((sibling) => sibling.status?.account === undefined && isBegunIn(lane, sibling) && !isSeen(sibling))
    .map(profileNameOf);
}

function isBegunIn(lane: string, object: AWSFargateProfile): boolean {
  const where = whereaboutsOf(object);
  return where.kind === 'somewhere' && laneOf(where.account, where.region, where.eksCluster) === lane;
}

/** The other objects of the same Cluster, as far as they can be read. */
function siblingsOf(object: AWSFargateProfile, profiles: StoreReader): readonly AWSFargateProfile[] {
  const cluster = keyText({ namespace: object.metadata.namespace, name: object.spec.clusterName });
  const listing = profiles.byIndex(BY_CLUSTER, cluster);
  const all = listing.kind === 'listed' ? listing.objects : [];
  return all
    .map((raw) => decodeAWSFargateProfile(raw))
    .flatMap((sibling) => (E.isRight(sibling) ? [sibling.right] : []))
    .filter(({ metadata }) => metadata.uid !== object.metadata.uid);
}
