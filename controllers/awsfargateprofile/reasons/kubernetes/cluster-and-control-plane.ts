import type { Ms } from '../../../../pkg/env/clock.ts';
import { defineReason } from '../spec/reason-spec.ts';
import { SECOND, pollEvery, pollRarely } from '../spec/poll-intervals.ts';
import { type Description, RETRIES, CONTINUES, quoted } from '../wording/phrases.ts';

const eks = { conditionType: 'EKSFargateProfileReady' } as const;

export const CLUSTER_REASONS = {
  WaitingForCluster: defineReason<{ readonly cluster: string }>({
    nature: 'wait',
    poll: pollRarely,
    describe: ({ cluster }) => `Cluster ${cluster} (spec.clusterName) does not exist`,
    remedy: () =>
      `The controller continues on its own when the Cluster exists. If spec.clusterName is wrong, delete this object and create it with the right name`,
  }),
  /** `what` has kind and key. */
  ClusterDeleting: defineReason<{ readonly what: string }>({
    nature: 'wait',
    announced: true,
    poll: pollRarely,
    describe: ({ what }) => `${what} is being deleted, so the controller creates no Fargate profile for it`,
  }),
  /** clusterctl may be moving the Cluster, so nothing is changed in AWS for the time that remains. */
  ClusterVanished: defineReason<{ readonly cluster: string; readonly remaining: Ms }>({
    nature: 'wait',
    poll: (_waited, { remaining }) => Math.max(remaining, SECOND / 2),
    describe: ({ cluster }) =>
      `Cluster ${cluster} does not exist any more. Maybe clusterctl is moving it to another management cluster, so the controller changes nothing in AWS for 30 seconds`,
    remedy: () =>
      'No action is needed: after that the controller continues with the deletion of this object on its own',
  }),
  WaitingForEKSControlPlane: defineReason<Description>({
    nature: 'wait',
    ...eks,
    poll: pollRarely,
    describe: ({ detail }) => detail,
    remedy: () => 'The controller waits and then continues on its own',
  }),
  GuardRefused: defineReason<{
    readonly controlPlane: string;
    readonly reason: string;
    readonly remedy?: string | undefined;
  }>({
    nature: 'wait',
    poll: pollEvery(10 * SECOND),
    describe: ({ controlPlane, reason: refusal }) =>
      `the controller cannot add its finalizer to AWSManagedControlPlane ${controlPlane}: ${refusal}`,
    remedy: ({ remedy = 'Correct the problem that the API server names' }) =>
      `${remedy}. The finalizer keeps the control plane until its Fargate profiles are deleted; without it the controller creates no profile. ${RETRIES}`,
  }),
  ControlPlaneUnsupported: defineReason<{ readonly cluster: string; readonly kind: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster, kind }) =>
      `the control plane of Cluster ${cluster} is of kind ${kind}, but a Fargate profile needs an AWSManagedControlPlane`,
    remedy: () =>
      'Delete this object, because spec.clusterName cannot be changed. Then create it for a Cluster whose spec.controlPlaneRef names an AWSManagedControlPlane. Until then the controller does nothing for this object',
  }),
  ControlPlaneElsewhere: defineReason<{
    readonly cluster: string;
    readonly namespace: string;
    readonly named: string;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster, namespace, named }) =>
      `spec.controlPlaneRef.namespace of Cluster ${cluster} is ${quoted(named)}, but the control plane of a Cluster must be in the namespace of the Cluster, ${quoted(namespace)}`,
    remedy: ({ namespace }) =>
      `Remove spec.controlPlaneRef.namespace from the Cluster, or set it to ${quoted(namespace)}. ${CONTINUES}`,
  }),
} as const;
