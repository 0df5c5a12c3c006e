import type { ProfileView, RoleView } from '../../aws/admin/views.ts';
import { fargateProfile, pathOf } from '../manifests.ts';
import type { World } from '../world.ts';

export const EKS_POLICY = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';
export const CAPA_SHARED_ROLE = 'eks-fargate.cluster-api-provider-aws.sigs.k8s.io';
export const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';

/**
 * The trust policy that Cluster API Provider AWS writes into pod execution roles. Source: `FargateTrustRelationship` in
 * pkg/cloud/services/eks/iam/iam.go of its repository.
 */
export const CAPA_TRUST = JSON.stringify({
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Principal: { Service: ['eks-fargate-pods.amazonaws.com'] }, Action: ['sts:AssumeRole'] },
  ],
});

/** The only ownership tag that Cluster API Provider AWS sets on a Fargate profile and on its pod execution role. */
export const capaTags = (cluster: string): Readonly<Record<string, string>> => ({
  [`kubernetes.io/cluster/${cluster}`]: 'owned',
});

export interface CapaResources {
  readonly profile: ProfileView;
  readonly role: RoleView;
}

/**
 * Creates in AWS the Fargate profile and the pod execution role that Cluster API Provider AWS would create for the
 * AWSFargateProfile `default/<name>`. If the manager has not deleted both at the end of the test, `World.finish` fails.
 */
export function createCapaResources(world: World, cluster: string, name: string, roleName: string): CapaResources {
  const tags = capaTags(cluster);
  const role = world.aws.admin.putRole({
    name: roleName,
    trustPolicy: CAPA_TRUST,
    tags,
    attachedPolicies: [EKS_POLICY],
    foreign: false,
  });
  const profile = world.aws.admin.putProfile({
    cluster: `default_${cluster}-control-plane`,
    name: `default_${name}`,
    podExecutionRoleArn: role.arn,
    tags,
    foreign: false,
  });
  return { profile, role };
}

/**
 * Creates an AWSFargateProfile that looks as if Cluster API Provider AWS had reconciled it: it has spec.profileName,
 * and the finalizer, label, and status that Cluster API Provider AWS writes.
 */
export async function applyCapaProfile(world: World, cluster: string, name: string, spec: object): Promise<void> {
  const metadata = { finalizers: [FINALIZER], labels: { 'cluster.x-k8s.io/cluster-name': cluster } };
  const since = '2025-11-03T09:00:00Z';
  // While the AWSFargateProfile is paused, the manager writes no status, so that the test can first write the status of
  // Cluster API Provider AWS.
  const annotations = { 'cluster.x-k8s.io/paused': '' };
  await world.apply(
    fargateProfile(
      name,
      { clusterName: cluster, profileName: `default_${name}`, ...spec },
      { ...metadata, annotations },
    ),
  );
  await world.controlPlane.api.patch(`${pathOf(name, 'default')}/status`, {
    status: {
      ready: true,
      failureReason: null,
      conditions: [
        { type: 'Ready', status: 'True', lastTransitionTime: since },
        { type: 'EKSFargateCreating', status: 'False', severity: 'Info', reason: 'Created', lastTransitionTime: since },
        { type: 'EKSFargateProfileReady', status: 'True', lastTransitionTime: since },
        { type: 'IAMFargateRolesReady', status: 'True', lastTransitionTime: since },
      ],
    },
  });
  await world.patch(name, { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } });
}
