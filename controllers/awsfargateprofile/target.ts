import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import { CLUSTER_KIND, CONTROL_PLANE_KIND, isAWSManagedControlPlane } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { DELETION_REQUESTED_ANNOTATION, PAUSED_ANNOTATION } from '../../api/v1beta2/index.ts';
import { eksClusterNameDefault } from '../../pkg/fargate/names.ts';
import { privateSubnets } from '../../pkg/fargate/subnets.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import { carriesFinalizer, hasPausedAnnotation, isDeleting, isLeaving, isMoving, isRetained } from '../standing.ts';
import type { Inputs } from './inputs.ts';
import type { Goal, Target } from './model.ts';
import type { Why } from './reasons.ts';
import { why } from './reasons.ts';
import type { Somewhere } from './whereabouts.ts';
import { whereaboutsOf, written } from './whereabouts.ts';

/** What is to become of the object: the first of these questions that has an answer decides. */
export function goalFor(inputs: Inputs): Goal {
  const { object } = inputs;
  if (isMoving(object)) return { kind: 'ignore' };
  if (isDeleting(object) && !carriesFinalizer(object)) return { kind: 'ignore' };
  const paused = pausedBy(inputs);
  if (paused.length > 0) return { kind: 'paused', by: paused };
  // Deletion looks at the Cluster only for its pause: with that unknown, nothing may be taken away.
  if (inputs.cluster.kind === 'unknown')
    return hold(why('WaitingForAPI', { kind: 'Cluster', why: inputs.cluster.why }));
  return isDeleting(object) ? goalOfDeletion(inputs) : goalOfLife(inputs, inputs.cluster);
}

/** Why the object is paused, in the words of Cluster API's own `Paused` condition; empty where it is not. */
function pausedBy({ object, cluster }: Inputs): readonly string[] {
  return [
    ...(cluster.kind === 'found' && cluster.object.paused ? ['Cluster spec.paused is set to true'] : []),
    ...(hasPausedAnnotation(object) ? [`AWSFargateProfile has the ${PAUSED_ANNOTATION} annotation`] : []),
  ];
}

function goalOfDeletion(inputs: Inputs): Goal {
  const { object, controlPlane } = inputs;
  const surplus = isRetained(object) ? 'retain' : 'delete';
  if (surplus === 'retain' && !isClusterLeaving(inputs)) return { kind: 'release' };
  const target = targetOfDeletion(inputs);
  if (target !== undefined) {
    const releasable = !isClusterLeaving(inputs);
    // Where status says nothing, the annotation may forbid what the control plane names, and cannot replace it.
    const changed = recordedTarget(object) === undefined ? changeFrom(object, target) : undefined;
    return changed === undefined
      ? { kind: 'pursue', target, surroundings: undefined, surplus, releasable }
      : hold(changed);
  }
  if (controlPlane.kind === 'unknown') return waitForControlPlanes(controlPlane.why);
  const whereabouts = whereaboutsOf(object);
  // A teardown may have overtaken the object between its finalizer and the guard: nobody needs to tell where nothing is.
  if (whereabouts.kind === 'nowhere') return { kind: 'release' };
  const provisionedIn = whereabouts.kind === 'somewhere' ? written(whereabouts) : undefined;
  return hold(why('TargetUnknown', { missing: missingOf(inputs), provisionedIn }));
}

/** What is not there to tell where in AWS the object is. */
function missingOf({ object, cluster, controlPlane }: Inputs): string {
  if (cluster.kind !== 'found') return `Cluster ${clusterKey(object)} is not there`;
  return controlPlane.kind === 'found'
    ? `${CONTROL_PLANE_KIND} ${keyText(keyOf(controlPlane.object))} has no spec.region`
    : `Cluster ${clusterKey(object)} has no ${CONTROL_PLANE_KIND}`;
}

/** Where the object was provisioned, with the identity that the control plane names now: it may have been mended. */
function targetOfDeletion({ object, controlPlane }: Inputs): Target | undefined {
  const recorded = recordedTarget(object);
  const named = controlPlane.kind === 'found' ? targetOf(object, controlPlane.object) : undefined;
  const isSame = recorded === undefined || (named !== undefined && changedField(recorded, named) === undefined);
  return isSame ? named : recorded;
}

/** Whether the EKS cluster is about to be deleted, which EKS refuses as long as it has profiles. */
function isClusterLeaving({ controlPlane }: Inputs): boolean {
  return controlPlane.kind === 'found' && isLeaving(controlPlane.object);
}

function goalOfLife(inputs: Inputs, cluster: Exclude<Inputs['cluster'], { kind: 'unknown' }>): Goal {
  const { object, controlPlane } = inputs;
  if (cluster.kind === 'absent') return hold(why('WaitingForCluster', { cluster: clusterKey(object) }));
  if (object.metadata.annotations?.[DELETION_REQUESTED_ANNOTATION] !== undefined) return { kind: 'resumeDeletion' };
  const reference = cluster.object.controlPlaneRef;
  if (reference === undefined) return waitForControlPlane(`Cluster ${clusterKey(object)} names no control plane yet`);
  if (!isAWSManagedControlPlane(reference)) {
    return hold(why('ControlPlaneUnsupported', { cluster: clusterKey(object), kind: reference.kind }));
  }
  if (controlPlane.kind === 'unknown') return waitForControlPlanes(controlPlane.why);
  const key = keyText(reference);
  if (controlPlane.kind === 'absent') {
    if (isDeleting(cluster.object)) return hold(clusterDeleting(object));
    return waitForControlPlane(`${CONTROL_PLANE_KIND} ${key} does not exist yet`);
  }
  const target = targetOf(object, controlPlane.object);
  if (target === undefined) return waitForControlPlane(`${CONTROL_PLANE_KIND} ${key} has no spec.region yet`);

  const changed = changeFrom(object, target);
  if (changed !== undefined) return hold(changed);
  if (isClusterLeaving(inputs) && isRetained(object) && carriesFinalizer(object)) {
    return { kind: 'pursue', target, surroundings: undefined, surplus: 'retain' };
  }
  const noCreation = creationBar(object, cluster.object, controlPlane.object);
  // As long as nothing was begun in AWS there is nothing to look after, and a cluster that goes takes in nobody new.
  const isBegun = whereaboutsOf(object).kind === 'somewhere';
  if (noCreation !== undefined && (!isBegun || !carriesFinalizer(object))) return hold(noCreation);
  return {
    kind: 'pursue',
    target,
    surroundings: {
      controlPlaneTags: controlPlane.object.additionalTags,
      privateSubnets: privateSubnets(controlPlane.object.subnets),
      controlPlane: { namespace: reference.namespace, name: reference.name },
      noCreation,
    },
    surplus: 'delete',
  };
}

/** The control plane's readiness gates creation alone: what exists is looked after, and deleted, without it. */
function creationBar(
  object: AWSFargateProfile,
  cluster: Cluster,
  controlPlane: AWSManagedControlPlane,
): Why | undefined {
  const named = `${CONTROL_PLANE_KIND} ${keyText(keyOf(controlPlane))}`;
  if (isDeleting(cluster)) return clusterDeleting(object);
  if (isDeleting(controlPlane)) return why('ClusterDeleting', { what: named });
  return controlPlane.ready ? undefined : why('WaitingForEKSControlPlane', { words: `${named} is not ready yet` });
}

function targetOf(object: AWSFargateProfile, controlPlane: AWSManagedControlPlane): Target | undefined {
  const { region, metadata } = controlPlane;
  if (region === undefined) return undefined;
  return {
    clusterName: object.spec.clusterName,
    eksCluster: controlPlane.eksClusterName ?? eksClusterNameDefault(metadata.name, metadata.namespace),
    region,
    identity: controlPlane.identityRef,
  };
}

/** Where status says that the object was provisioned; it is written there before the first change in AWS. */
function recordedTarget(object: AWSFargateProfile): Target | undefined {
  const { region, eksClusterName, identityRef } = object.status ?? {};
  if (region === undefined || eksClusterName === undefined) return undefined;
  const { kind, name } = identityRef ?? {};
  return {
    clusterName: object.spec.clusterName,
    eksCluster: eksClusterName,
    region,
    identity: kind === undefined || name === undefined ? undefined : { kind, name },
  };
}

/** What the control plane names otherwise than the object says. */
function changeFrom(object: AWSFargateProfile, found: Target): Why | undefined {
  const whereabouts = whereaboutsOf(object);
  const changed = whereabouts.kind === 'somewhere' ? changedField(whereabouts, found) : undefined;
  if (changed === undefined) return undefined;
  const saidBy = recordedTarget(object) === undefined ? 'annotation' : 'status';
  return why('TargetChanged', { ...changed, saidBy });
}

function changedField(
  recorded: Pick<Somewhere, 'region' | 'eksCluster'>,
  found: Target,
): { readonly field: string; readonly recorded: string; readonly found: string } | undefined {
  if (recorded.region !== found.region) {
    return { field: 'spec.region', recorded: recorded.region, found: found.region };
  }
  return recorded.eksCluster === found.eksCluster
    ? undefined
    : { field: 'spec.eksClusterName', recorded: recorded.eksCluster, found: found.eksCluster };
}

const hold = (reason: Why): Goal => ({ kind: 'hold', why: reason });
const waitForControlPlanes = (reason: string): Goal =>
  hold(why('WaitingForAPI', { kind: CONTROL_PLANE_KIND, why: reason }));
const waitForControlPlane = (words: string): Goal => hold(why('WaitingForEKSControlPlane', { words }));
const clusterDeleting = (object: AWSFargateProfile): Why =>
  why('ClusterDeleting', { what: `${CLUSTER_KIND} ${clusterKey(object)}` });
const clusterKey = ({ metadata, spec }: AWSFargateProfile): string => `${metadata.namespace}/${spec.clusterName}`;
