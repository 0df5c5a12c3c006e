import { KeyedMutex, SingleFlight } from 'controller-runtime/async';
import type { Store } from 'controller-runtime/cache';
import {
  isConflict,
  isNotFound,
  keyOf,
  keyText,
  type KubeClient,
  KubeError,
  type KubeObject,
  type ObjectKey,
  type Resource,
} from 'controller-runtime/client';
import { CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import { apiRejectionFrom } from '../api-rejections.ts';
import { isDeleting } from '../object-state.ts';

/**
 * An AWSManagedControlPlane has this finalizer while an AWSFargateProfile of its cluster has its own finalizer: the
 * controller needs the control plane's region and identity to delete Fargate profiles. Cluster API keeps the Cluster as
 * long as its control plane. The removal of the finalizer triggers CAPA's reconcile of the control plane.
 *
 * If another client removes it, this only affects the order in which a cluster is deleted.
 */
export const CONTROL_PLANE_FINALIZER = 'aws-fargate.cluster.x-k8s.io/profiles';

/** An attempt fails if another client writes or deletes the control plane at the same time. */
const MAX_ATTEMPTS = 5;

export type FinalizerResult =
  | { readonly kind: 'present' }
  /** The control plane is being deleted or is gone, so nothing may be created for its cluster. */
  | { readonly kind: 'controlPlaneDeleting' }
  /** The next reconcile tries again. `reason` and `remedy` are shown to users. */
  | { readonly kind: 'rejected'; readonly reason: string; readonly remedy?: string | undefined };

export const hasControlPlaneFinalizer = ({ metadata }: KubeObject): boolean =>
  metadata.finalizers?.includes(CONTROL_PLANE_FINALIZER) ?? false;

interface ControlPlaneFinalizerOptions {
  readonly client: KubeClient;
  readonly controlPlanes: Store;
  /** `undefined` while the API server does not serve control planes. */
  readonly resource: () => Resource | undefined;
}

/** Each patch contains the resourceVersion that was read, so that a change by another client causes a conflict. */
export class ControlPlaneFinalizer {
  private readonly options: ControlPlaneFinalizerOptions;
  /** AWSFargateProfiles that are created at the same time share one request per control plane. */
  private readonly additions = new SingleFlight<FinalizerResult>();
  /**
   * Locks by control plane: between the listing of AWSFargateProfiles and the removal of the finalizer, a new
   * AWSFargateProfile must not rely on the finalizer.
   */
  private readonly locks = new KeyedMutex();

  constructor(options: ControlPlaneFinalizerOptions) {
    this.options = options;
  }

  async add(key: ObjectKey, signal: AbortSignal): Promise<FinalizerResult> {
    const cached = this.options.controlPlanes.lookup(key);
    return cached.kind === 'found' && hasControlPlaneFinalizer(cached.object)
      ? { kind: 'present' }
      : this.confirm(key, signal);
  }

  /**
   * Asks the API server, because the cache may be outdated. The API server rejects new finalizers on an object that is
   * being deleted, so no Fargate profile is created after the deletion of a cluster has begun.
   *
   * The AWSFargateProfile must already have its own finalizer. While it does, this process does not remove the
   * finalizer of the control plane.
   */
  confirm(key: ObjectKey, signal: AbortSignal): Promise<FinalizerResult> {
    const text = keyText(key);
    return this.additions.run(text, signal, (shared) =>
      this.locks.run(text, shared, () => this.addToLiveObject(key, shared)),
    );
  }

  private async addToLiveObject(key: ObjectKey, signal: AbortSignal): Promise<FinalizerResult> {
    const resource = this.options.resource();
    if (resource === undefined)
      return { kind: 'rejected', reason: `the controller cannot read ${CONTROL_PLANE_KIND} objects` };
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      try {
        // An outdated list of finalizers in the patch would remove the finalizers of other controllers.
        const object = await this.options.client.get(resource, key, { signal });
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
   * Removes the finalizer if `isUnused` returns true. A lock prevents this manager from starting to use the control
   * plane meanwhile. Throws a conflict if another client has changed the control plane since `object` was read.
   */
  async removeIf(object: KubeObject, isUnused: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const resource = this.options.resource();
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
    const patch = { metadata: { resourceVersion: object.metadata.resourceVersion, finalizers } };
    await this.options.client.mergePatch(resource, keyOf(object), patch, { signal });
  }
}
