import * as E from 'fp-ts/lib/Either.js';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../api/v1beta2/index.ts';
import { GROUP, PLURAL, VERSION, decodeAWSFargateProfile, describeProblem } from '../../api/v1beta2/index.ts';
import { isConflict, isNotFound } from '../../pkg/kube/errors.ts';
import { diffMergePatch } from '../../pkg/kube/patches.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { Store } from '../../pkg/kube/store.ts';
import type { KubeClient, KubeObject, ObjectKey, Resource } from '../../pkg/kube/types.ts';

export const PROFILES: Resource = { group: GROUP, version: VERSION, plural: PLURAL };

type Patch = Readonly<Record<string, unknown>>;

/**
 * Writes AWSFargateProfiles. Each write is guarded by the resourceVersion that was read, so it never covers somebody
 * else's; its answer goes into the store at once, so that the next pass reads what this one wrote.
 */
export class ProfileObjects {
  private readonly client: KubeClient;
  private readonly store: Store;
  /** The version of our last write of an object, by key. */
  private readonly written = new Map<string, string>();

  constructor(options: { readonly client: KubeClient; readonly store: Store }) {
    this.client = options.client;
    this.store = options.store;
  }

  /** Whether this very version of the object was written here: news to nobody. */
  isOwnWrite(object: KubeObject): boolean {
    return this.written.get(keyText(keyOf(object))) === object.metadata.resourceVersion;
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
    const written = await this.client
      .mergePatch(PROFILES, keyOf(object), { ...patch, metadata }, { signal, ...(subresource && { subresource }) })
      .catch((error: unknown) => {
        if (isConflict(error) || isNotFound(error)) return undefined;
        throw error;
      });
    if (written === undefined) return undefined;
    this.written.set(keyText(keyOf(object)), written.metadata.resourceVersion);
    this.store.replaceWith(written);
    return written;
  }
}

const pick = (record: Patch, keys: readonly string[]): Patch =>
  Object.fromEntries(Object.entries(record).filter(([key]) => keys.includes(key)));

const isRecord = (value: unknown): value is Patch => typeof value === 'object' && value !== null;
