import * as E from 'fp-ts/lib/Either.js';
import type { Store, TypedStore } from 'controller-runtime/cache';
import {
  isConflict,
  isNotFound,
  keyOf,
  keyText,
  type KubeClient,
  type KubeObject,
  type ObjectKey,
  type PatchOptions,
} from 'controller-runtime/client';
import { diffMergePatch, fieldAt, isRecord, type UnknownRecord } from 'controller-runtime/json';
import { type AWSFargateProfile, type AWSFargateProfileStatus, describeProblems } from '../../api/v1beta2/index.ts';
import { PROFILES, deleteProfileObject } from './live-profiles.ts';

interface ProfileWriterOptions {
  readonly client: KubeClient;
  readonly store: Store;
  readonly profiles: TypedStore<AWSFargateProfile>;
  /** Called if another client changed the object while this process was writing it. */
  readonly onForeignChange: (key: ObjectKey) => void;
}

/**
 * Each patch contains the resourceVersion on which it is based, so it never overwrites another client's change. The API
 * server's answer is stored in the cache immediately, so the next reconcile sees it.
 */
export class ProfileWriter {
  private readonly options: ProfileWriterOptions;
  /** The resourceVersion of this process's last write, by object key. */
  private readonly written = new Map<string, string>();
  /** The resourceVersions that the watch delivered during a write, by object key. */
  private readonly duringWrite = new Map<string, Set<string>>();

  constructor(options: ProfileWriterOptions) {
    this.options = options;
  }

  /**
   * Whether this process wrote this version. The watch may deliver a version before the API server has answered the
   * write. Until the answer, each version counts as this process's own. After the answer, `onForeignChange` is called
   * if another client wrote one of these versions.
   */
  isOwnWrite({ metadata }: KubeObject): boolean {
    const key = keyText(keyOf({ metadata }));
    const duringWrite = this.duringWrite.get(key);
    duringWrite?.add(metadata.resourceVersion);
    return duringWrite !== undefined || this.written.get(key) === metadata.resourceVersion;
  }

  forget(key: ObjectKey): void {
    this.written.delete(keyText(key));
  }

  /**
   * Returns `undefined` if another client wrote first, or if the object no longer exists. An empty patch only checks
   * for this, and an `undefined` patch sends nothing.
   */
  async patchMetadata(
    object: AWSFargateProfile,
    patch: UnknownRecord | undefined,
    signal: AbortSignal,
  ): Promise<AWSFargateProfile | undefined> {
    return patch === undefined ? object : this.write(object, patch, { signal });
  }

  /** Sends the differences. Returns `undefined` if another client wrote first, or if the object no longer exists. */
  async patchStatus(
    object: AWSFargateProfile,
    status: AWSFargateProfileStatus,
    signal: AbortSignal,
  ): Promise<AWSFargateProfile | undefined> {
    const patch = diffMergePatch({ ...object.status }, { ...status });
    return patch === undefined ? object : this.write(object, { status: patch }, { subresource: 'status', signal });
  }

  async delete(object: AWSFargateProfile, signal: AbortSignal): Promise<void> {
    await deleteProfileObject(this.options.client, object, signal);
  }

  /** For an object that cannot be decoded. Returns `false` if another client wrote first, or the object is gone. */
  async patchRawStatus(raw: KubeObject, status: UnknownRecord, signal: AbortSignal): Promise<boolean> {
    const before = Object.fromEntries(Object.keys(status).map((field) => [field, fieldAt(raw['status'], field)]));
    const patch = diffMergePatch(before, status);
    const options = { subresource: 'status', signal } as const;
    return patch === undefined || (await this.send(raw, { status: patch }, options)) !== undefined;
  }

  private async write(
    object: AWSFargateProfile,
    patch: UnknownRecord,
    options: PatchOptions,
  ): Promise<AWSFargateProfile | undefined> {
    const written = await this.send(object, patch, options);
    if (written === undefined) return undefined;
    const decoded = this.decode(written);
    if (E.isRight(decoded)) return decoded.right;
    throw new Error(`decoding the API server's answer to a write: ${describeProblems(decoded.left)}`);
  }

  /** If the cache has the same version, the cache decodes it and keeps the result for the next reconcile. */
  private decode(written: KubeObject): ReturnType<TypedStore<AWSFargateProfile>['decode']> {
    const { profiles } = this.options;
    const cached = profiles.lookup(keyOf(written));
    const isSameVersion =
      cached.kind === 'found' && cached.object.metadata.resourceVersion === written.metadata.resourceVersion;
    return isSameVersion ? cached.decoded : profiles.decode(written);
  }

  private async send(
    object: Pick<KubeObject, 'metadata'>,
    patch: UnknownRecord,
    options: PatchOptions,
  ): Promise<KubeObject | undefined> {
    const { client, store, onForeignChange } = this.options;
    const { resourceVersion } = object.metadata;
    const metadata = { ...(isRecord(patch['metadata']) && patch['metadata']), resourceVersion };
    const key = keyOf(object);
    const duringWrite = new Set<string>();
    this.duringWrite.set(keyText(key), duringWrite);
    let written: KubeObject | undefined;
    try {
      written = await client.mergePatch(PROFILES, key, { ...patch, metadata }, options);
      this.written.set(keyText(key), written.metadata.resourceVersion);
      store.replaceWith(written);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    } finally {
      this.duringWrite.delete(keyText(key));
      duringWrite.delete(written?.metadata.resourceVersion ?? '');
      if (duringWrite.size > 0) onForeignChange(key);
    }
    return written;
  }
}
