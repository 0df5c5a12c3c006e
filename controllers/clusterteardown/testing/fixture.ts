import { keyOf, type KubeObject } from 'controller-runtime/client';
import type { Requeue } from 'controller-runtime/controller';
import { type FakeKind, MemoryLogger } from 'controller-runtime/testing';
import { ClusterName } from '../../../api/names.ts';
import { CONTROL_PLANE_GROUP, CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { CLUSTER, CONTROL_PLANE, PROFILE_KIND, newApi } from '../../awsfargateprofile/testing/api.ts';
import { newCaches, type Caches } from '../../shared/caches.ts';
import { ControlPlaneAccounts } from '../../shared/control-plane/control-plane-accounts.ts';
import { CONTROL_PLANE_FINALIZER, ControlPlaneFinalizer } from '../../shared/control-plane/control-plane-finalizer.ts';
import type { ServedSchemaState } from '../../shared/crd/served-schema.ts';
import { TeardownReconciler } from '../reconcile.ts';

/** The key of the Cluster in the tests. */
export const KEY = { namespace: 'team-a', name: 'prod' };
export const CONTROL_PLANE_KEY = { ...KEY, name: 'prod-control-plane' };
/** The value of `spec.controlPlaneRef` of the Cluster in the tests. */
export const REFERENCE = { apiGroup: CONTROL_PLANE_GROUP, kind: CONTROL_PLANE_KIND, name: CONTROL_PLANE_KEY.name };
/** The finalizer of Cluster API Provider AWS, which keeps a control plane that is being deleted. */
export const CAPA_FINALIZER = 'awsmanagedcontrolplane.controlplane.cluster.x-k8s.io';
export const CLUSTER_LABELS = { 'cluster.x-k8s.io/cluster-name': KEY.name };

const CONTROL_PLANES = { group: CONTROL_PLANE_GROUP, version: 'v1beta2', plural: CONTROL_PLANE.plural };
const CLUSTERS = { group: CLUSTER.group, version: 'v1beta2', plural: CLUSTER.plural };
const KINDS = { profiles: PROFILE_KIND, clusters: CLUSTER, controlPlanes: CONTROL_PLANE };
export const CACHES = ['profiles', 'clusters', 'controlPlanes'] as const;
type CacheName = (typeof CACHES)[number];

/** The TeardownReconciler under test, with a fake API server and with caches that change only at {@link sync}. */
export class TeardownFixture {
  readonly api = newApi();
  /** The recorded Events, each as `object reason: message`. */
  readonly events: string[] = [];
  /** Returns for how many milliseconds the leader lease is still valid. */
  remaining = (): number => 15_000;
  schema: ServedSchemaState = { kind: 'ours' };
  private readonly caches: Caches;
  private readonly reconciler: TeardownReconciler;

  constructor() {
    const { client, clock, random } = this.api;
    this.caches = newCaches({ client, clock, random, logger: new MemoryLogger() });
    const { controlPlanes } = this.caches;
    this.reconciler = new TeardownReconciler({
      client,
      clock,
      ...this.caches.typed,
      clusterResource: () => CLUSTERS,
      accounts: new ControlPlaneAccounts({ open: () => Promise.reject(new Error('no account is needed')) }),
      controlPlaneFinalizer: new ControlPlaneFinalizer({ client, controlPlanes, resource: () => CONTROL_PLANES }),
      schema: { check: async () => this.schema },
      leadership: { remaining: () => this.remaining() },
      recorder: {
        record: ({ metadata }, _type, reason, message) => this.events.push(`${metadata.name} ${reason}: ${message}`),
      },
    });
  }

  reconcile(): Promise<Requeue> {
    return this.reconciler.reconcile(KEY, { logger: new MemoryLogger(), signal: new AbortController().signal });
  }

  /** Copies the fake API server's objects into the given caches, or into all caches if no name is given. */
  sync(...names: readonly CacheName[]): void {
    for (const name of names.length > 0 ? names : CACHES)
      this.caches[name].replaceAll(this.list(KINDS[name]), String(this.api.server.storage.newest));
  }

  putProfile(name: string, clusterName: string = KEY.name): AWSFargateProfile {
    return this.api.put({ metadata: { name }, spec: { clusterName: ClusterName.of(clusterName) } });
  }

  /** Creates a Cluster whose control plane has this controller's finalizer and is being deleted. */
  putTornDownCluster(spec: object = {}): void {
    this.api.putCluster({ controlPlaneRef: REFERENCE, ...spec });
    const finalizers = [CONTROL_PLANE_FINALIZER, CAPA_FINALIZER];
    const controlPlane = this.api.putControlPlane({}, { labels: CLUSTER_LABELS, finalizers });
    this.api.server.storage.delete(CONTROL_PLANE, keyOf(controlPlane));
  }

  /** Creates a Cluster that is being torn down, with these AWSFargateProfiles, and fills the caches. */
  startWith(...names: readonly string[]): void {
    this.putTornDownCluster();
    for (const name of names) this.putProfile(name);
    this.sync();
  }

  /** Returns the requests that change objects, each as `METHOD last-path-segment`. */
  writes(): readonly string[] {
    return this.api.server.requests.flatMap(({ method, path }) =>
      method === 'GET' ? [] : [`${method} ${path.split('/').at(-1)}`],
    );
  }

  deletedProfiles(): readonly string[] {
    return this.list(PROFILE_KIND).flatMap(({ metadata }) =>
      metadata.deletionTimestamp === undefined ? [] : [metadata.name],
    );
  }

  finalizers(name: string = CONTROL_PLANE_KEY.name): readonly string[] {
    return this.list(CONTROL_PLANE).find(({ metadata }) => metadata.name === name)?.metadata.finalizers ?? [];
  }

  private list(kind: FakeKind): readonly KubeObject[] {
    return this.api.server.storage.list(kind, KEY.namespace);
  }
}
