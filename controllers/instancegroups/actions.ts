import type { Store } from 'controller-runtime/cache';
import { isAlreadyExists, keyOf, type KubeClient, type KubeObject, type Resource } from 'controller-runtime/client';
import { isRecord, type UnknownRecord } from 'controller-runtime/json';
import {
  INSTANCE_GROUP_GROUP,
  INSTANCE_GROUP_KIND,
  INSTANCE_GROUP_PLURAL,
  INSTANCE_GROUP_VERSION,
} from '../../api/external/index.ts';
import { API_VERSION, KIND, WATCH_FILTER_LABEL, type AWSFargateProfileSpec } from '../../api/v1beta2/index.ts';
import { PROFILES, deleteProfileObject } from '../shared/live-profiles.ts';
import { hasPausedAnnotation, isDeleting, isMoving } from '../shared/object-state.ts';
import { type Action, isOwnedBy, GROUP_FINALIZER } from './decide.ts';

export const INSTANCE_GROUPS: Resource = {
  group: INSTANCE_GROUP_GROUP,
  version: INSTANCE_GROUP_VERSION,
  plural: INSTANCE_GROUP_PLURAL,
};

export interface ActionsOptions {
  readonly client: KubeClient;
  readonly groups: Store;
  readonly profileStore: Store;
}

/** The API server has newer objects than the caches. */
export class Conflict extends Error {
  override readonly name = 'Conflict';
}

/** Carries out actions, and stores the API server's answers in the caches immediately. */
export class Actions {
  private readonly options: ActionsOptions;

  constructor(options: ActionsOptions) {
    this.options = options;
  }

  /** Returns the changed InstanceGroup, or `undefined` if it may be gone. */
  async carryOut(group: KubeObject, action: Action, signal: AbortSignal): Promise<KubeObject | undefined> {
    switch (action.kind) {
      case 'addFinalizer':
        return this.patchGroup(group, { finalizers: [...finalizersOf(group), GROUP_FINALIZER] }, signal);
      case 'removeFinalizers': {
        const finalizers = finalizersOf(group).filter((each) => !action.finalizers.includes(each));
        const left = await this.patchGroup(group, { finalizers }, signal);
        return finalizers.length === 0 ? undefined : left;
      }
      case 'createProfile':
        await this.createProfile(group, action.spec, signal);
        return group;
      case 'claimProfile':
        await this.patchProfile(action.profile, { metadata: { ownerReferences: [ownerReference(group)] } }, signal);
        return group;
      case 'updateProfile':
        await this.patchProfile(action.profile, { spec: action.patch }, signal);
        return group;
      case 'deleteProfile':
        await this.deleteProfile(group, action.profile, signal);
        return group;
    }
  }

  private async createProfile(group: KubeObject, spec: AWSFargateProfileSpec, signal: AbortSignal): Promise<void> {
    const { namespace = '', name, labels = {} } = group.metadata;
    const filter = labels[WATCH_FILTER_LABEL];
    const metadata = {
      namespace,
      name,
      // A manager with --watch-filter caches only objects with the label.
      ...(filter !== undefined && { labels: { [WATCH_FILTER_LABEL]: filter } }),
      ownerReferences: [ownerReference(group)],
    };
    const profile = { apiVersion: API_VERSION, kind: KIND, metadata, spec };
    const { client, profileStore } = this.options;
    try {
      profileStore.replaceWith(await client.create(PROFILES, namespace, profile, { signal }));
    } catch (error) {
      // If the object already exists, the cache is behind the API server.
      throw isAlreadyExists(error) ? new Conflict() : error;
    }
  }

  /**
   * Throws {@link Conflict} if the API server shows, earlier than the caches, that the InstanceGroup was paused or
   * moved, or no longer owns the AWSFargateProfile.
   */
  private async deleteProfile(group: KubeObject, profile: KubeObject, signal: AbortSignal): Promise<void> {
    const { client } = this.options;
    const [groupNow, profileNow] = await Promise.all([
      client.get(INSTANCE_GROUPS, keyOf(group), { signal }),
      client.get(PROFILES, keyOf(profile), { signal }),
    ]);
    const isAsBefore =
      groupNow?.metadata.uid === group.metadata.uid &&
      isDeleting(groupNow) &&
      !isMoving(groupNow) &&
      !hasPausedAnnotation(groupNow) &&
      profileNow?.metadata.uid === profile.metadata.uid &&
      isOwnedBy(profileNow, groupNow);
    if (!isAsBefore) throw new Conflict();
    await deleteProfileObject(client, profile, signal);
  }

  private async patchGroup(group: KubeObject, metadata: UnknownRecord, signal: AbortSignal): Promise<KubeObject> {
    const { client, groups } = this.options;
    const { resourceVersion } = group.metadata;
    const patch = { metadata: { ...metadata, resourceVersion } };
    const written = await client.mergePatch(INSTANCE_GROUPS, keyOf(group), patch, { signal });
    groups.replaceWith(written);
    return written;
  }

  private async patchProfile(profile: KubeObject, patch: UnknownRecord, signal: AbortSignal): Promise<void> {
    const { client, profileStore } = this.options;
    const { resourceVersion } = profile.metadata;
    const metadata = { ...(isRecord(patch['metadata']) && patch['metadata']), resourceVersion };
    profileStore.replaceWith(await client.mergePatch(PROFILES, keyOf(profile), { ...patch, metadata }, { signal }));
  }
}

const finalizersOf = ({ metadata }: KubeObject): readonly string[] => metadata.finalizers ?? [];

/**
 * Omits `blockOwnerDeletion`, for which the manager would need a permission for the finalizers of InstanceGroups. This
 * controller's finalizer already blocks the deletion.
 */
const ownerReference = ({ apiVersion, metadata }: KubeObject) => ({
  apiVersion,
  kind: INSTANCE_GROUP_KIND,
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
});
