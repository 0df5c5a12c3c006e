import * as E from 'fp-ts/lib/Either.js';
import type { TypedStoreReader } from 'controller-runtime/cache';
import { type KubeObject, type ObjectKey, parseKeyText } from 'controller-runtime/client';
import type { ReconcileContext } from 'controller-runtime/controller';
import { fieldAt } from 'controller-runtime/json';
import { type AWSManagedControlPlane, type Cluster, decodeAWSManagedControlPlane } from '../../api/external/index.ts';
import { type AWSFargateProfile, decodeAWSFargateProfile } from '../../api/v1beta2/index.ts';
import { ownersOf, referrersOf } from '../shared/caches.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';
import type { ControlPlaneAccounts } from '../shared/control-plane/control-plane-accounts.ts';
import { isProvenElsewhere, joinOf, type JoinFacts } from '../shared/control-plane/joined-control-plane.ts';
import { listLiveProfiles } from '../shared/live-profiles.ts';
import { hasFinalizer, isDeleting } from '../shared/object-state.ts';

export interface FindUserOptions extends JoinFacts, Pick<ControllerOptions, 'client'> {
  readonly clusters: TypedStoreReader<Cluster>;
  readonly accounts: ControlPlaneAccounts;
}

/**
 * Finds an AWSFargateProfile for which the control plane must keep its finalizer. Asks the API server: a cache may be
 * outdated, and a watch filter hides objects. An object that cannot be decoded may belong to any cluster in its
 * namespace, unless spec.clusterName names another one.
 */
export async function findUser(
  options: FindUserOptions,
  { namespace, name }: ObjectKey,
  controlPlane: KubeObject,
  context: ReconcileContext,
): Promise<KubeObject | undefined> {
  const decoded = decodeAWSManagedControlPlane(controlPlane);
  const listing = referrersOf(controlPlane, options.clusters);
  const referrers = listing.kind === 'listed' ? listing.entries.map(({ object }) => object.metadata.name) : [];
  const owners = [name, ...ownersOf(controlPlane).map((key) => parseKeyText(key).name)];
  const mayJoin = E.isRight(decoded) ? newJoinCheck(options, decoded.right, context) : async () => false;

  const isUser = async (item: KubeObject): Promise<boolean> => {
    const profile = decodeAWSFargateProfile(item);
    const named = fieldAt(item.spec, 'clusterName');
    if (typeof named !== 'string') return E.isLeft(profile) || mayJoin(profile.right);
    if (referrers.includes(named)) return true;
    if (!owners.includes(named)) return false;
    // The Cluster refers to another control plane, or is gone. While this control plane is being deleted, nothing is
    // created in its EKS cluster, and no manager can add the finalizer again.
    const isProven = E.isRight(profile) && E.isRight(decoded) && isProvenElsewhere(profile.right, decoded.right);
    return !(isProven && isDeleting(controlPlane));
  };
  for await (const item of listLiveProfiles(options.client, { namespace }, context.signal))
    if (hasFinalizer(item) && (await isUser(item))) return item;
  return undefined;
}

/**
 * The reconcile learns the control plane's account only for cached objects, and this check is also for other objects.
 * While the account is unknown, the object may join.
 */
function newJoinCheck(
  options: FindUserOptions,
  controlPlane: AWSManagedControlPlane,
  context: ReconcileContext,
): (profile: AWSFargateProfile) => Promise<boolean> {
  let learned: Promise<void> | undefined;
  return async (profile) => {
    if (joinOf(profile, controlPlane, options) === 'accountUnknown')
      await (learned ??= options.accounts.learn(controlPlane, context));
    return joinOf(profile, controlPlane, options) !== 'no';
  };
}
