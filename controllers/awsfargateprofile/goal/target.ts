import type { AccountId, ClusterName, EksClusterName } from '../../../api/names.ts';
import type { IdentityRef } from '../../../pkg/cloud/index.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import * as E from 'fp-ts/lib/Either.js';
import { keyOf, keyText, type ObjectKey } from 'controller-runtime/client';
import {
  type AWSManagedControlPlane,
  type Cluster,
  CLUSTER_KIND,
  CONTROL_PLANE_KIND,
  isAWSManagedControlPlane,
} from '../../../api/external/index.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { defaultEksClusterName } from '../../../pkg/fargate/names.ts';
import { privateSubnets } from '../../../pkg/fargate/subnets.ts';
import { controlPlaneReference, isElsewhere } from '../../shared/control-plane/joined-control-plane.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { type KnownLocation, formatLocation, locationOf, recordOf, readRecord } from '../../shared/record.ts';
import type { NamedEksCluster, ReconcileInputs, UnreadableInput } from './inputs.ts';

/** The place in AWS, without the account, which follows from the identity's credentials. */
export interface Target {
  /** `undefined` if the EKS cluster comes from spec.eksCluster instead. */
  readonly clusterName: ClusterName | undefined;
  readonly eksCluster: EksClusterName;
  readonly region: string;
  readonly identity: IdentityRef | undefined;
  readonly controlPlaneUid?: string;
}

/**
 * Where the EKS cluster and the identity come from: normally a ready control plane, or a spec.eksCluster that the
 * operator's limits allow. Deletions can also use an `unreadyControlPlane` (a control plane that is not ready, or a
 * spec.eksCluster that the limits do not allow) or the object's `record`. These two prove nothing, because a client
 * that may write these Kubernetes objects can set any EKS cluster there.
 */
export type TargetSource = 'controlPlane' | 'unreadyControlPlane' | 'record';

/**
 * What the controller has to know before it creates or corrects something. Most of it comes from the control plane, if
 * there is one.
 */
export interface CreationFacts {
  /** The control plane's tags. The resources of an object with spec.eksCluster do not get these tags. */
  readonly controlPlaneTags: Tags;
  /** Subnet IDs. `undefined` for an object with spec.eksCluster: if the spec sets no subnets, EKS chooses them. */
  readonly privateSubnets: readonly string[] | undefined;
  /** The control plane that gets this controller's finalizer. */
  readonly controlPlane: ObjectKey | undefined;
  readonly creationBlocker: Reason | undefined;
  /**
   * Set for an object with spec.eksCluster, because only EKS shows whether the EKS cluster is ready. Nothing new is
   * created for an object whose credentials belong to one of these accounts, because a control plane there manages the
   * EKS cluster.
   */
  readonly blockersInAccounts?: readonly { readonly account: AccountId; readonly blocker: Reason }[];
}

export interface FoundTarget {
  readonly target: Target;
  readonly facts: CreationFacts;
}

export function findTarget(inputs: ReconcileInputs): E.Either<Reason, FoundTarget> {
  const { object, cluster, eksCluster } = inputs;
  if (eksCluster !== undefined) return targetInEks(inputs, eksCluster);
  if (object.spec.clusterName === undefined || cluster.kind === 'none')
    return E.left(newReason('ClusterNotNamed', { provisionedIn: provisionedIn(object) }));
  switch (cluster.kind) {
    case 'found':
      return targetOfCluster(inputs, cluster.object);
    case 'absent':
      return E.left(newReason('WaitingForCluster', { cluster: clusterKey(object) }));
    case 'unknown':
      return E.left(unreadableReason(CLUSTER_KIND, cluster));
  }
}

/**
 * Only a later call to EKS shows whether the EKS cluster in spec.eksCluster exists and is ready. If the operator's
 * limits forbid the EKS cluster, a live object causes no call to AWS, whatever annotations, finalizers, and status say.
 */
function targetInEks(
  { object, cluster, controlPlane }: ReconcileInputs,
  { name, region, identity, excess, inAccounts }: NamedEksCluster,
): E.Either<Reason, FoundTarget> {
  const joined = controlPlane.kind === 'found' ? controlPlane.object : undefined;
  const clusterOfJoined = cluster.kind === 'found' ? cluster.object : undefined;
  if (region === undefined) return E.left(newReason('RegionUnknown', { cluster: name }));
  if (excess.length > 0) return E.left(eksClusterNotAllowed(excess));
  return E.right({
    target: { clusterName: undefined, eksCluster: name, region, identity },
    facts: {
      controlPlaneTags: joined?.additionalTags ?? {},
      privateSubnets: undefined,
      controlPlane: joined && keyOf(joined),
      creationBlocker: joined && joinedBlocker(object, name, clusterOfJoined, joined),
      blockersInAccounts: inAccounts.map((each) => ({
        account: each.account,
        blocker: useClusterName(name, each.controlPlane, each.cluster),
      })),
    },
  });
}

/**
 * Returns what prevents creation if a control plane manages the EKS cluster in spec.eksCluster. An object without AWS
 * resources must set spec.clusterName instead. An object with resources only has to wait while the control plane or its
 * Cluster is being deleted.
 */
function joinedBlocker(
  object: AWSFargateProfile,
  eksCluster: string,
  cluster: Cluster | undefined,
  controlPlane: AWSManagedControlPlane,
): Reason | undefined {
  if (locationOf(object).kind !== 'known') return useClusterName(eksCluster, controlPlane, cluster);
  const isGoing = isDeleting(controlPlane) || (cluster !== undefined && isDeleting(cluster));
  const what = `${CONTROL_PLANE_KIND} ${keyText(keyOf(controlPlane))}`;
  return isGoing ? newReason('ClusterDeleting', { what }) : undefined;
}

const useClusterName = (
  eksCluster: string,
  controlPlane: AWSManagedControlPlane,
  cluster: Cluster | undefined,
): Reason =>
  newReason('UseClusterName', {
    eksCluster,
    controlPlane: keyText(keyOf(controlPlane)),
    cluster: cluster?.metadata.name,
  });

export const eksClusterNotAllowed = (excess: NamedEksCluster['excess']): Reason =>
  newReason('NotAllowedByOperator', { excess, about: 'EKSFargateProfileReady' });

function targetOfCluster({ object, controlPlane }: ReconcileInputs, cluster: Cluster): E.Either<Reason, FoundTarget> {
  const reference = cluster.controlPlaneRef;
  if (reference === undefined)
    return E.left(
      controlPlaneMissing(
        `Cluster ${clusterKey(object)} has no spec.controlPlaneRef yet`,
        'Set this field, unless the Cluster has spec.topology: Cluster API then sets it',
      ),
    );
  if (!isAWSManagedControlPlane(reference)) {
    return E.left(newReason('ControlPlaneUnsupported', { cluster: clusterKey(object), kind: reference.kind }));
  }
  if (isElsewhere(cluster, reference)) {
    const facts = { cluster: clusterKey(object), namespace: cluster.metadata.namespace, named: reference.namespace };
    return E.left(newReason('ControlPlaneElsewhere', facts));
  }
  if (controlPlane.kind === 'unknown') return E.left(unreadableReason(CONTROL_PLANE_KIND, controlPlane));
  const key = keyText(reference);
  if (controlPlane.kind === 'absent') {
    return E.left(
      isDeleting(cluster)
        ? clusterDeletingReason(object)
        : controlPlaneMissing(
            `${CONTROL_PLANE_KIND} ${key} does not exist yet`,
            `If this name is wrong, fix spec.controlPlaneRef of Cluster ${clusterKey(object)}`,
          ),
    );
  }
  const target = targetOf(object, controlPlane.object);
  return target === undefined
    ? E.left(controlPlaneMissing(`${CONTROL_PLANE_KIND} ${key} has no spec.region`, 'Set this field'))
    : E.right({ target, facts: factsOf(object, cluster, controlPlane.object) });
}

const factsOf = (object: AWSFargateProfile, cluster: Cluster, controlPlane: AWSManagedControlPlane): CreationFacts => ({
  controlPlaneTags: controlPlane.additionalTags,
  privateSubnets: privateSubnets(controlPlane.subnets),
  controlPlane: keyOf(controlPlane),
  creationBlocker: findCreationBlocker(object, cluster, controlPlane),
});

function findCreationBlocker(
  object: AWSFargateProfile,
  cluster: Cluster,
  controlPlane: AWSManagedControlPlane,
): Reason | undefined {
  const named = `${CONTROL_PLANE_KIND} ${keyText(keyOf(controlPlane))}`;
  if (isDeleting(cluster)) return clusterDeletingReason(object);
  if (isDeleting(controlPlane)) return newReason('ClusterDeleting', { what: named });
  return controlPlane.ready
    ? undefined
    : newReason('WaitingForEKSControlPlane', {
        detail: `${named} is not ready yet`,
        remedy: 'If this lasts, look at its conditions',
      });
}

function targetOf(object: AWSFargateProfile, controlPlane: AWSManagedControlPlane): Target | undefined {
  const { region, metadata } = controlPlane;
  if (region === undefined) return undefined;
  return {
    clusterName: object.spec.clusterName,
    eksCluster: controlPlane.eksClusterName ?? defaultEksClusterName(metadata.name, metadata.namespace),
    region,
    identity: controlPlane.identityRef,
    controlPlaneUid: metadata.uid,
  };
}

function recordedTarget(object: AWSFargateProfile): Target | undefined {
  const record = recordOf(object);
  if (record.in.kind !== 'known') return undefined;
  const { region, eksCluster } = record.in;
  return { clusterName: object.spec.clusterName, eksCluster, region, identity: record.identity };
}

/**
 * Compares region and EKS cluster with the record annotation, not with status: a user who removes the annotation
 * declares that the profile does not exist anymore, or stays as it is.
 */
export function findTargetChange(object: AWSFargateProfile, found: Target): Reason | undefined {
  const read = readRecord(object);
  const location = read.kind === 'recorded' ? read.record.in : undefined;
  const changed = location?.kind === 'known' ? changedField(location, found) : undefined;
  if (changed === undefined) return undefined;
  return newReason('TargetChanged', { ...changed, ...(found.clusterName === undefined && { isOfObject: true }) });
}

function changedField(
  recorded: Pick<KnownLocation, 'region' | 'eksCluster'>,
  found: Target,
): { readonly field: string; readonly recorded: string; readonly found: string } | undefined {
  const isOfObject = found.clusterName === undefined;
  if (recorded.region !== found.region) {
    const field = isOfObject ? 'spec.eksCluster.region' : 'spec.region';
    return { field, recorded: recorded.region, found: found.region };
  }
  const field = isOfObject ? 'spec.eksCluster.name' : 'spec.eksClusterName';
  return recorded.eksCluster === found.eksCluster
    ? undefined
    : { field, recorded: recorded.eksCluster, found: found.eksCluster };
}

/**
 * Resources are deleted where the record says. But a user may have corrected the identity since, so the control plane
 * or spec.eksCluster has precedence if it contains the same region and EKS cluster.
 */
export function deletionTarget(
  inputs: ReconcileInputs,
): { readonly target: Target; readonly targetSource: TargetSource } | undefined {
  const { object, controlPlane, eksCluster } = inputs;
  const recorded = recordedTarget(object);
  const named = targetNamedForDeletion(inputs);
  const isSame = recorded === undefined || (named !== undefined && changedField(recorded, named) === undefined);
  if (!isSame) return { target: recorded, targetSource: 'record' };
  // `status.ready` stays true while Cluster API Provider AWS deletes the control plane.
  const isReady = controlPlane.kind === 'found' && controlPlane.object.ready;
  const isProven = eksCluster === undefined ? isReady : eksCluster.excess.length === 0;
  return named && { target: named, targetSource: isProven ? 'controlPlane' : 'unreadyControlPlane' };
}

function targetNamedForDeletion({ object, controlPlane, eksCluster }: ReconcileInputs): Target | undefined {
  if (eksCluster === undefined)
    return controlPlane.kind === 'found' ? targetOf(object, controlPlane.object) : undefined;
  const { name, region, identity, excess } = eksCluster;
  // The limits do not block the deletion of an object with a recorded location. Without one, nothing was created.
  const isRefused = excess.length > 0 && locationOf(object).kind !== 'known';
  return region === undefined || isRefused ? undefined : { clusterName: undefined, eksCluster: name, region, identity };
}

/** Says what is missing to know region and EKS cluster, and how a user can add it. */
export function describeMissingSource({ object, cluster, controlPlane, eksCluster }: ReconcileInputs): {
  readonly missing: string;
  readonly remedy: string;
} {
  if (eksCluster !== undefined) {
    return eksCluster.region === undefined
      ? {
          missing: 'spec.eksCluster.region is not set, and the controller does not know its own AWS region',
          remedy: 'Set AWS_REGION of the manager',
        }
      : {
          missing: `the manager's administrator does not allow EKS cluster "${eksCluster.name}" in spec.eksCluster`,
          remedy:
            "Ask the manager's administrator to allow this EKS cluster with the manager's flag --allow-eks-cluster",
        };
  }
  if (object.spec.clusterName === undefined)
    return { missing: 'the spec names no cluster', remedy: 'Set spec.eksCluster again as it was' };
  const ofCluster = `${CLUSTER_KIND} ${clusterKey(object)}`;
  if (cluster.kind !== 'found')
    return { missing: `${ofCluster} does not exist`, remedy: `Restore ${ofCluster} and its ${CONTROL_PLANE_KIND}` };
  if (controlPlane.kind === 'found') {
    const named = `${CONTROL_PLANE_KIND} ${keyText(keyOf(controlPlane.object))}`;
    return { missing: `${named} has no spec.region`, remedy: `Set spec.region of ${named}` };
  }
  const reference = controlPlaneReference(cluster.object);
  if (reference === undefined)
    return {
      missing: `spec.controlPlaneRef of ${ofCluster} names no ${CONTROL_PLANE_KIND}`,
      remedy: `Name the ${CONTROL_PLANE_KIND} of the EKS cluster in spec.controlPlaneRef of ${ofCluster}`,
    };
  const named = `${CONTROL_PLANE_KIND} ${keyText(reference)}`;
  return { missing: `${named} of ${ofCluster} does not exist`, remedy: `Restore ${named}` };
}

export const unreadableReason = (kind: string, input: UnreadableInput): Reason =>
  newReason('WaitingForAPI', { ...input, kind });
const controlPlaneMissing = (detail: string, remedy: string): Reason =>
  newReason('WaitingForEKSControlPlane', { detail, remedy });
const clusterDeletingReason = (object: AWSFargateProfile): Reason =>
  newReason('ClusterDeleting', { what: `${CLUSTER_KIND} ${clusterKey(object)}` });
export const clusterKey = ({ metadata, spec }: AWSFargateProfile): string =>
  `${metadata.namespace}/${spec.clusterName}`;

function provisionedIn(object: AWSFargateProfile): string | undefined {
  const location = locationOf(object);
  return location.kind === 'known' ? formatLocation(location) : undefined;
}
