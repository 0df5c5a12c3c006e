import * as E from 'fp-ts/lib/Either.js';
import { isRecord } from '../../api/record.ts';
import type { UnknownRecord } from '../../api/record.ts';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { decodeAWSFargateProfile, describeProblem } from '../../api/v1beta2/index.ts';
import { isConflict, isNotFound } from '../../pkg/kube/errors.ts';
import { diffMergePatch } from '../../pkg/kube/patches.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { Store } from '../../pkg/kube/store.ts';
import type { KubeClient, KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import { PROFILES, deleteThis } from '../profiles.ts';

type Patch = UnknownRecord;

/**
 * Writes AWSFargateProfiles. Each write is guarded by the resourceVersion that was read, so it never covers somebody
 * else's; its answer goes into the store at once, so that the next pass reads what this one wrote.
 */
export class ProfileObjects {
  private readonly client: KubeClient;
  private readonly store: Store;
  /** The version of our last write of an object, by key. */
  private readonly written = new Map<string, string>();
  /** The versions that the watch brought while a write of the object was under way, by key. */
  private readonly meanwhile = new Map<string, Set<string>>();
  private readonly onNews: (key: ObjectKey) => void;

  /** `onNews` is told of a change by somebody else that {@link isOwnWrite} could not tell from ours yet. */
  constructor(options: {
    readonly client: KubeClient;
    readonly store: Store;
    readonly onNews: (key: ObjectKey) => void;
  }) {
    this.client = options.client;
    this.store = options.store;
    this.onNews = options.onNews;
  }

  /**
   * Whether this very version of the object was written here: news to nobody. The watch may bring our write before its
   * answer has come: until then it counts as ours, and the answer tells.
   */
  isOwnWrite({ metadata }: KubeObject): boolean {
    const key = keyText(keyOf({ metadata }));
    const meanwhile = this.meanwhile.get(key);
    meanwhile?.add(metadata.resourceVersion);
    return meanwhile !== undefined || this.written.get(key) === metadata.resourceVersion;
  }

  forget(key: ObjectKey): void {
    this.written.delete(keyText(key));
  }

  /** `undefined`: somebody else wrote first, or the object is gone. */
  async patchMetadata(
    object: AWSFargateProfile,
    patch: Patch | undefined,
    signal: AbortSignal,
  ): Promise<AWSFargateProfile | undefined> {
    return patch === undefined ? object : this.write(object, patch, undefined, signal);
  }

  /** Writes nothing where nothing changed. `undefined`: somebody else wrote first, or the object is gone. */
  async patchStatus(
    object: AWSFargateProfile,
    status: AWSFargateProfileStatus,
    signal: AbortSignal,
  ): Promise<AWSFargateProfile | undefined> {
    const patch = diffMergePatch({ ...object.status }, { ...status });
    return patch === undefined ? object : this.write(object, { status: patch }, 'status', signal);
  }

  /** Deletes this very object; another of its name is left alone. */
  async delete(object: AWSFargateProfile, signal: AbortSignal): Promise<void> {
    await deleteThis(this.client, object, signal);
  }

  /** For an object whose status cannot be read: `false` where somebody else wrote first. */
  async patchRawStatus(raw: KubeObject, status: Patch, signal: AbortSignal): Promise<boolean> {
    const before = isRecord(raw['status']) ? raw['status'] : {};
    const patch = diffMergePatch(pick(before, Object.keys(status)), status);
    return patch === undefined || (await this.send(raw, { status: patch }, 'status', signal)) !== undefined;
  }

  private async write(
    object: AWSFargateProfile,
    patch: Patch,
    subresource: 'status' | undefined,
    signal: AbortSignal,
  ): Promise<AWSFargateProfile | undefined> {
    const written = await this.send(object, patch, subresource, signal);
    if (written === undefined) return undefined;
    const decoded = decodeAWSFargateProfile(written);
    if (E.isRight(decoded)) return decoded.right;
    throw new Error(`the API server's answer to a write: ${decoded.left.map(describeProblem).join('; ')}`);
  }

  private async send(
    object: Pick<KubeObject, 'metadata'>,
    patch: Patch,
    subresource: 'status' | undefined,
    signal: AbortSignal,
  ): Promise<KubeObject | undefined> {
    const { resourceVersion } = object.metadata;
    const metadata = { ...(isRecord(patch['metadata']) && patch['metadata']), resourceVersion };
    const key = keyOf(object);
    const meanwhile = new Set<string>();
    this.meanwhile.set(keyText(key), meanwhile);
    let written: KubeObject | undefined;
    try {
      written = await this.client.mergePatch(
        PROFILES,
        key,
        { ...patch, metadata },
        { signal, ...(subresource && { subresource }) },
      );
      this.written.set(keyText(key), written.metadata.resourceVersion);
      this.store.replaceWith(written);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    } finally {
      this.meanwhile.delete(keyText(key));
      meanwhile.delete(written?.metadata.resourceVersion ?? '');
      if (meanwhile.size > 0) this.onNews(key);
    }
    return written;
  }
}

const pick = (record: Patch, keys: readonly string[]): Patch =>
  Object.fromEntries(Object.entries(record).filter(([key]) => keys.includes(key)));
