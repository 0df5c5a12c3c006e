import { CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import { KeyedMutex } from '../../../pkg/async/keyed-mutex.ts';
import { SingleFlight } from '../../../pkg/async/single-flight.ts';
import { KubeError, isConflict, isNotFound } from '../../../pkg/kube/errors.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { Store } from '../../../pkg/kube/cache/store.ts';
import type { KubeClient, KubeObject, ObjectKey, Resource } from '../../../pkg/kube/types.ts';
import { apiRejectionFrom } from '../api-rejections.ts';
import { isDeleting } from '../object-state.ts';

/**
 * The finalizer that this controller sets on an AWSManagedControlPlane. The control plane has it as long as an
 * AWSFargateProfile of its cluster has the finalizer of AWSFargateProfiles. So the API server does not remove a deleted
 * control plane while the controller still needs its region and identity to delete Fargate profiles. The Cluster stays
 * as long as its control plane. The removal of this finalizer triggers a reconcile of the control plane by Cluster API
 * Provider AWS.
 *
 * If another client removes this finalizer, only the order of the deletion of a cluster is affected.
 */
export const CONTROL_PLANE_FINALIZER = 'aws-fargate.cluster.x-k8s.io/profiles';

/**
 * The maximum number of attempts to read and patch the control plane. An attempt ends without a result if another
 * client writes or deletes the control plane at the same time.
 */
const MAX_ATTEMPTS = 5;

export type FinalizerResult =
  | { readonly kind: 'present' }
  /** The control plane is being deleted, or is gone. Nothing may be created for its cluster. */
  | { readonly kind: 'controlPlaneDeleting' }
  /**
   * The API server rejected the finalizer, and the next reconcile tries again. `reason` and `remedy` are texts for
   * users.
   */
  | { readonly kind: 'rejected'; readonly reason: string; readonly remedy?: string | undefined };

export const hasControlPlaneFinalizer = ({ metadata }: KubeObject): boolean =>
  metadata.finalizers?.includes(CONTROL_PLANE_FINALIZER) ?? false;

/**
 * Adds and removes this controller's finalizer on control planes. Each patch contains the resourceVersion that was
 * read, so that a change by another client gives a conflict.
 */
export class ControlPlaneFinalizer {
  private readonly client: KubeClient;
  private readonly controlPlanes: Store;
  private readonly resource: () => Resource | undefined;
  /**
   * The requests in progress that add the finalizer, by control plane. AWSFargateProfiles that are created at the same
   * time share one request.
   */
  private readonly additions = new SingleFlight<FinalizerResult>();
  /**
   * A lock for each control plane. The removal of the finalizer first lists the AWSFargateProfiles and then removes the
   * finalizer. Without the lock, a new AWSFargateProfile could rely on the finalizer between these two steps.
   */
  private readonly locks = new KeyedMutex();

  constructor(options: {
    readonly client: KubeClient;
    readonly controlPlanes: Store;
    /** The API version in which control planes are read; `undefined` while the API server does not serve them. */
    readonly resource: () => Resource | undefined;
  }) {
    this.client = options.client;
    this.controlPlanes = options.controlPlanes;
    this.resource = options.resource;
  }

  /** Adds the finalizer to the control plane, unless the cache or the API server shows that it has the finalizer. */
  async add(key: ObjectKey, signal: AbortSignal): Promise<FinalizerResult> {
    const cached = this.controlPlanes.lookup(key);
    return cached.kind === 'found' && hasControlPlaneFinalizer(cached.object)
      ? { kind: 'present' }
      : this.confirm(key, signal);
  }

  /**
   * Adds the finalizer to the control plane. Unlike {@link add}, this method always asks the API server. The cache may
   * still show a finalizer that was removed, or may not show yet that the control plane is being deleted. The API
   * server rejects new finalizers on an object that is being deleted, so no Fargate profile is created after the
   * deletion of a cluster has begun.
   *
   * The AWSFargateProfile that needs the control plane's finalizer must already have its own finalizer. As long
   * as it has, this process does not remove the control plane's finalizer.
   */
  confirm(key: ObjectKey, signal: AbortSignal): Promise<FinalizerResult> {
    const text = keyText(key);
    return this.additions.run(text, signal, (shared) =>
      this.locks.run(text, shared, () => this.addToLiveObject(key, shared)),
    );
  }

  private async addToLiveObject(key: ObjectKey, signal: AbortSignal): Promise<FinalizerResult> {
    const resource = this.resource();
    if (resource === undefined)
      return { kind: 'rejected', reason: `the controller cannot read ${CONTROL_PLANE_KIND} objects` };
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      try {
        // The control plane is read from the API server, not from the cache. An outdated list of finalizers in the
        // patch would remove the finalizers of other controllers.
        const object = await this.client.get(resource, key, { signal });
        if (object === undefined || isDeleting(object)) return { kind: 'controlPlaneDeleting' };
        if (hasControlPlaneFinalizer(object)) return { kind: 'present' };
        const finalizers = [...(object.metadata.finalizers ?? []), CONTROL_PLANE_FINALIZER];
        await this.patchFinalizers(resource, object, finalizers, signal);
        return { kind: 'present' };
      } catch (error) {
        if (isConflict(error) || isNotFound(error)) continue;
        const rejection = apiRejectionFrom(error);
        if (rejection !== undefined) return { kind: 'rejected', reason: rejection.message, remedy: rejection.remedy };
        if (error instanceof KubeError && error.status > 0) return { kind: 'rejected', reason: error.message };
        throw error;
      }
    }
    return { kind: 'rejected', reason: 'another client changes the control plane again and again' };
  }

  /**
   * Removes the finalizer from the control plane if `isUnused` returns true, which means that no AWSFargateProfile
   * needs the finalizer. Throws a conflict if another client has changed the control plane since `object` was read. A
   * lock keeps AWSFargateProfiles of this manager from relying on the finalizer during the removal.
   */
  async removeIf(object: KubeObject, isUnused: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const resource = this.resource();
    if (resource === undefined || !hasControlPlaneFinalizer(object)) return;
    await this.locks.run(keyText(keyOf(object)), signal, async () => {
      if (!(await isUnused())) return;
      const finalizers = (object.metadata.finalizers ?? []).filter((each) => each !== CONTROL_PLANE_FINALIZER);
      await this.patchFinalizers(resource, object, finalizers, signal);
    });
  }

  private async patchFinalizers(
    resource: Resource,
    object: KubeObject,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { resourceVersion } = object.metadata;
    const patch = { metadata: { resourceVersion, finalizers } };
    await this.client.mergePatch(resource, keyOf(object), patch, { signal });
  }
}
