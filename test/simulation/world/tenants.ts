import type { KubeObject } from 'controller-runtime/client';
import { PLURAL } from '../../../api/v1beta2/index.ts';
import { CONTROL_PLANE_REF, controlPlaneOf } from './cluster.ts';
import { conditionsOf } from './problems.ts';
import type { SimulatedWorld } from './simulated-world.ts';

/** A Cluster of a tenant. Each tenant has its own namespace. */
export interface TenantCluster {
  readonly namespace: string;
  readonly name: string;
  readonly region: string;
}

/** Creates an EKS cluster, and a Cluster with a ready control plane in the namespace of the tenant. */
export function createTenantCluster({ api, aws }: SimulatedWorld, { namespace, name, region }: TenantCluster): void {
  const eksCluster = aws.admin.createCluster({ name: `${namespace}_${name}`, region });
  const controlPlane = { namespace, name: `${name}-control-plane` };
  api.storage.create(api.kind('clusters'), namespace, {
    metadata: { name },
    spec: { controlPlaneRef: { ...CONTROL_PLANE_REF, name: controlPlane.name } },
  });
  const manifest = controlPlaneOf(name, controlPlane.name, eksCluster);
  api.storage.create(api.kind('awsmanagedcontrolplanes'), namespace, manifest);
  api.storage.mergePatch(api.kind('awsmanagedcontrolplanes'), controlPlane, { status: { ready: true } }, 'status');
}

/** Creates AWSFargateProfiles with valid specs in a Cluster of a tenant. */
export function applyTo(
  { api }: SimulatedWorld,
  { namespace, name }: TenantCluster,
  ...names: readonly string[]
): void {
  for (const profile of names) {
    api.storage.create(api.kind(PLURAL), namespace, {
      metadata: { name: profile },
      spec: { clusterName: name, selectors: [{ namespace: profile }] },
    });
  }
}

export const tenantProfile = ({ api }: SimulatedWorld, namespace: string, name: string): KubeObject | undefined =>
  api.storage.get(api.kind(PLURAL), { namespace, name });

export const isTenantReady = (world: SimulatedWorld, namespace: string, name: string): boolean =>
  conditionsOf(tenantProfile(world, namespace, name)).some(({ type, status }) => type === 'Ready' && status === 'True');
