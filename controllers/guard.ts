import { CONTROL_PLANE_KIND } from '../api/external/index.ts';
import { KubeError, isConflict, isNotFound } from '../pkg/kube/errors.ts';
import { keyOf, keyText } from '../pkg/kube/paths.ts';
import type { Store } from '../pkg/kube/store.ts';
import type { KubeClient, KubeObject, ObjectKey, Resource } from '../pkg/kube/types.ts';
import { refusalIn } from './refusals.ts';
import { isDeleting } from './standing.ts';

/**
 * On an AWSManagedControlPlane exactly while a profile of its cluster carries our finalizer. It keeps the control plane,
 * which knows region and identity, and with it the Cluster; and its removal wakes the control plane's own controller.
 *
 * A courtesy: others may strip it, and nothing but the order of the teardown depends on it.
 */
export const GUARD_FINALIZER = 'aws-fargate.cluster.x-k8s.io/profiles';

/** Others write the control plane too, in the same moments: each conflict is a reason to read it again. */
const MOST_ATTEMPTS = 5;

export type Guarding =
  | { readonly kind: 'guarded' }
  /** The control plane is being deleted, or gone: nothing may be created for it any more. */
  | { readonly kind: 'leaving' }
  /** The API server did not take the finalizer; the next pass tries again. */
  | { readonly kind: 'refused'; readonly why: string; readonly cure?: string | undefined };

export const hasGuard = ({ metadata }: KubeObject): boolean => metadata.finalizers?.includes(GUARD_FINALIZER) ?? false;

/** The finalizer on and off control planes, each write guarded by the version that it was decided on. */
export class Guard {
  private readonly client: KubeClient;
  private readonly controlPlanes: Store;
  private readonly resource: () => Resource | undefined;
  /** Under way, by control plane: the profiles of a cluster that are applied together ask at the same moment. */
  private readonly puttingOn = new Map<string, Promise<Guarding>>();

  constructor(options: {
    readonly client: KubeClient;
    readonly controlPlanes: Store;
    /** In which version control planes are served; `undefined` while they are not. */
    readonly resource: () => Resource | undefined;
  }) {
    this.client = options.client;
    this.controlPlanes = options.controlPlanes;
    this.resource = options.resource;
  }

  /**
   * Puts the finalizer on unless it is there. The API server adds none to an object that is being deleted, and that is
   * the fence between the last create and the teardown.
   */
  async putOn(key: ObjectKey, signal: AbortSignal): Promise<Guarding> {
    const known = this.controlPlanes.lookup(key);
    if (known.kind === 'found' && hasGuard(known.object)) return { kind: 'guarded' };
    const name = keyText(key);
    const underWay = this.puttingOn.get(name) ?? this.putOnLive(key, signal).finally(() => this.puttingOn.delete(name));
    this.puttingOn.set(name, underWay);
    return underWay;
  }

  private async putOnLive(key: ObjectKey, signal: AbortSignal): Promise<Guarding> {
    const resource = this.resource();
    if (resource === undefined) return { kind: 'refused', why: `${CONTROL_PLANE_KIND} objects cannot be read` };
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      try {
        // Read live: a list of finalizers that is not the newest would take somebody else's off.
        const object = await this.client.get(resource, key, { signal });
        if (object === undefined || isDeleting(object)) return { kind: 'leaving' };
        if (hasGuard(object)) return { kind: 'guarded' };
        const finalizers = [...(object.metadata.finalizers ?? []), GUARD_FINALIZER];
        await this.write(resource, object, finalizers, signal);
        return { kind: 'guarded' };
      } catch (error) {
        if (isConflict(error) || isNotFound(error)) continue;
        const refusal = refusalIn(error);
        if (refusal !== undefined) return { kind: 'refused', why: refusal.words, cure: refusal.cure };
        if (error instanceof KubeError && error.status > 0) return { kind: 'refused', why: error.message };
        throw error;
      }
    }
    return { kind: 'refused', why: 'it is being changed all the time' };
  }

  /** Takes the finalizer off the object as it was read. A conflict is thrown, and means: look again. */
  async takeOff(object: KubeObject, signal: AbortSignal): Promise<void> {
    const resource = this.resource();
    if (resource === undefined || !hasGuard(object)) return;
    const finalizers = (object.metadata.finalizers ?? []).filter((each) => each !== GUARD_FINALIZER);
    await this.write(resource, object, finalizers, signal);
  }

  private async write(
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
