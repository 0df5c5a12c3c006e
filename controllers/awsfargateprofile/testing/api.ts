import { isLeft } from 'fp-ts/lib/Either.js';
import { createKubeClient, keyOf, type KubeClient, type KubeObject } from 'controller-runtime/client';
import { FakeApiServer, type FakeKind, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import type { Cluster } from '../../../api/external/index.ts';
import {
  CLUSTER_GROUP,
  CLUSTER_KIND,
  CLUSTER_PLURAL,
  CONTROL_PLANE_GROUP,
  CONTROL_PLANE_KIND,
  CONTROL_PLANE_PLURAL,
} from '../../../api/external/index.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { GROUP, KIND, PLURAL, VERSION, decodeAWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { type ObjectParts, anObject } from './builders.ts';

export const PROFILE_KIND: FakeKind = { group: GROUP, versions: [VERSION], kind: KIND, plural: PLURAL };
export const CLUSTER: FakeKind = {
  group: CLUSTER_GROUP,
  versions: ['v1beta2', 'v1beta1'],
  kind: CLUSTER_KIND,
  plural: CLUSTER_PLURAL,
};
export const CONTROL_PLANE: FakeKind = {
  group: CONTROL_PLANE_GROUP,
  versions: ['v1beta2'],
  kind: CONTROL_PLANE_KIND,
  plural: CONTROL_PLANE_PLURAL,
};

type Fields = Readonly<Record<string, unknown>>;

/**
 * A fake API server in the test process, which serves the kinds of objects that the controller reads. Its functions
 * write objects as clients other than the controller would.
 */
export interface Api {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly server: FakeApiServer;
  readonly client: KubeClient;
  /**
   * Creates an AWSFargateProfile with its status in the fake API server, and returns the AWSFargateProfile as the
   * controller would decode it.
   */
  readonly put: (parts?: ObjectParts) => AWSFargateProfile;
  /** Applies a merge patch to an AWSFargateProfile, as a client other than the controller would. */
  readonly change: (object: { readonly metadata: KubeObject['metadata'] }, patch: Fields) => AWSFargateProfile;
  readonly putCluster: (fields?: Fields, metadata?: Partial<Cluster['metadata']>) => KubeObject;
  readonly putControlPlane: (fields?: Fields, metadata?: Fields) => KubeObject;
}

export function newApi(): Api {
  const clock = new VirtualClock();
  const random = new SeededRandom(7);
  const server = new FakeApiServer({ clock, random, kinds: [PROFILE_KIND, CLUSTER, CONTROL_PLANE] });
  const create = (kind: FakeKind, { metadata, ...body }: Fields & { metadata: Fields }): KubeObject =>
    server.storage.create(kind, 'team-a', { ...body, metadata });
  return {
    clock,
    random,
    server,
    client: createKubeClient({ transport: server, clock }),
    put(parts = {}) {
      const { metadata, spec, status } = anObject(parts);
      const { name, namespace, labels, annotations, finalizers } = metadata;
      const created = server.storage.create(PROFILE_KIND, namespace, {
        metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }), finalizers },
        spec,
      });
      return decoded(
        status === undefined ? created : server.storage.mergePatch(PROFILE_KIND, keyOf(created), { status }, 'status'),
      );
    },
    change: (object, patch) => decoded(server.storage.mergePatch(PROFILE_KIND, keyOf(object), patch)),
    putCluster: (spec = {}, metadata = {}) => create(CLUSTER, { metadata: { name: 'prod', ...metadata }, spec }),
    putControlPlane: (spec = {}, metadata = {}) =>
      create(CONTROL_PLANE, { metadata: { name: 'prod-control-plane', ...metadata }, spec }),
  };
}

function decoded(object: KubeObject): AWSFargateProfile {
  const profile = decodeAWSFargateProfile(object);
  if (isLeft(profile)) throw new Error(`the object cannot be decoded: ${JSON.stringify(profile.left)}`);
  return profile.right;
}
