import * as E from 'fp-ts/lib/Either.js';
import { keyOf, keyText, listAll, type ObjectKey } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import { CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import { EksClusterName } from '../../../api/names.ts';
import { type AWSFargateProfile, KIND } from '../../../api/v1beta2/index.ts';
import { currentProfileNameOf } from '../../../controllers/shared/profile-names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { OWNER_TAG, ownerTagValue } from '../../../pkg/fargate/tags/tag-keys.ts';
import { type Answer, type AwsAccess, tolerate } from '../aws.ts';
import { EVENTS, type KubeAccess, findEksCluster } from '../kube.ts';
import { type Scope, decodeObjects, listObjects } from '../objects.ts';
import type { TreeNode } from '../tree.ts';
import { listFargatePods, profileOf } from '../workload.ts';
import { type EksFacts, type PodCounts, profileNodes, readEksFacts, unchecked, unownedNode } from './eks.ts';
import { eventNodes, objectNode } from './objects.ts';

export interface StatusAccess {
  readonly aws: AwsAccess;
  /** `undefined` without Cluster API. */
  readonly management: KubeAccess | undefined;
  /** Opens the API server of the pods' cluster. @throws Failure */
  readonly openPods: (target: Target) => Promise<KubeAccess>;
  readonly now: Ms;
  readonly signal: AbortSignal;
}

/** The EKS cluster of a Cluster (Cluster API), or an EKS cluster from an object or an option. */
export interface Target {
  readonly cluster?: ObjectKey | undefined;
  readonly eksCluster?: { readonly name: EksClusterName; readonly region: string | undefined } | undefined;
}

interface Group extends Target {
  readonly objects: readonly AWSFargateProfile[];
}

/** Facts from the API server that all groups of objects share. */
interface Seen {
  /** By `namespace/name` of the object. */
  readonly events: ReadonlyMap<string, readonly TreeNode[]>;
  /** Whether a profile with this owner tag, or without an owner tag, is shown as unowned after the objects. */
  readonly isUnowned: (ownerTag: string | undefined) => boolean;
}

/** `cluster` selects the objects of one Cluster. @throws Failure if a named object does not exist; KubeError */
export async function readStatus(
  management: KubeAccess,
  { cluster, ...scope }: Scope & { readonly cluster: string | undefined },
  access: StatusAccess,
) {
  const { namespace, names } = scope;
  const { signal, now } = access;
  const ofKind = { namespace, fieldSelector: `involvedObject.kind=${KIND}` };
  const [all, events] = await Promise.all([
    listObjects(management.client, scope, signal),
    tolerate(signal, () => listAll(management.client, EVENTS, ofKind, signal)),
  ]);
  const named = decodeObjects(all.filter(({ metadata: { name } }) => names.length === 0 || names.includes(name)));
  const objects = named.objects.filter(({ spec }) => cluster === undefined || spec.clusterName === cluster);
  const owners = new Set(all.map(({ metadata }) => ownerTagValue(keyOf({ metadata }))));
  const isUnowned = (owner: string | undefined): boolean =>
    names.length === 0 &&
    (owner === undefined || (!owners.has(owner) && (namespace === undefined || owner.startsWith(`${namespace}/`))));
  const seen = { isUnowned, events: eventNodes(E.isRight(events) ? events.right : [], now) };
  const asked =
    cluster === undefined ? [] : [{ cluster: { namespace: management.namespace, name: cluster }, objects: [] }];
  const groups = groupsOf(objects, asked);
  return [
    ...(await Promise.all(groups.map((group) => readGroup(group, seen, access)))),
    ...(E.isLeft(events) ? [unchecked('Events', 'of all objects', events.left)] : []),
    ...named.unreadable.map(({ name, why }) => unreadable(name, why)),
  ];
}

const unreadable = (name: string, message: string): TreeNode => {
  return { kind: KIND, name, state: 'not readable', result: 'problem', message };
};

/** Groups the objects by cluster. A Cluster in `asked` is shown even if it has no objects. */
function groupsOf(objects: readonly AWSFargateProfile[], asked: readonly Group[]): readonly Group[] {
  const found = objects.map((object): Group => {
    const { metadata, spec, status = {} } = object;
    if (spec.clusterName !== undefined)
      return { cluster: { namespace: metadata.namespace, name: spec.clusterName }, objects: [object] };
    const name = spec.eksCluster?.name ?? status.eksClusterName ?? EksClusterName.of('');
    return { eksCluster: { name, region: spec.eksCluster?.region ?? status.region }, objects: [object] };
  });
  const byTarget = Map.groupBy([...asked, ...found], ({ cluster, eksCluster }) =>
    JSON.stringify([cluster, eksCluster]),
  );
  return [...byTarget.values()].map((each) => {
    return { ...each[0], objects: each.flatMap((group) => group.objects) };
  });
}

/** Reads an EKS cluster without Cluster API, and so without AWSFargateProfiles. @throws Failure if EKS has none */
export const readEksCluster = (eksCluster: Target['eksCluster'], access: StatusAccess): Promise<TreeNode> =>
  readGroup({ eksCluster, objects: [] }, { isUnowned: () => true, events: new Map() }, access);

const UNNAMED: Answer<EksFacts> = E.left('neither a Cluster nor an object names it');

async function readGroup(group: Group, seen: Seen, { aws, management, openPods, signal }: StatusAccess) {
  const { cluster, objects } = group;
  const found = await tolerate(signal, async () =>
    cluster && management ? findEksCluster(management.client, cluster, signal) : undefined,
  );
  // If the Cluster cannot be read, the objects' status says where their profiles are.
  const recorded = objects.find(({ status }) => status?.eksClusterName !== undefined)?.status;
  const place = (E.isRight(found) ? found.right : undefined) ?? group.eksCluster;
  const name = place?.name ?? recorded?.eksClusterName;
  const region = place?.region ?? recorded?.region ?? aws.region;
  const readFacts = async (): Promise<Answer<EksFacts>> =>
    name === undefined ? UNNAMED : E.right(await readEksFacts(aws, name, region, objects));
  const [eks, pods] = await Promise.all([
    // Without Cluster API, there is nothing else to show, so an error ends the command.
    management === undefined ? readFacts() : tolerate(signal, readFacts).then(E.flatten),
    tolerate(signal, () => countPods(() => openPods(group), signal)),
  ]);
  const eksNode = eksClusterNode(name ?? '', region ?? '', eks);
  const children = childrenOf(objects, eks, pods, seen);
  return cluster === undefined ? { ...eksNode, children } : clusterNode(cluster, found, [eksNode, ...children]);
}

function childrenOf(objects: Group['objects'], eks: Answer<EksFacts>, pods: Answer<PodCounts>, seen: Seen) {
  const facts = E.isRight(eks) ? eks.right : undefined;
  const counts = E.isRight(pods) ? pods.right : undefined;
  const named = new Set<string>(objects.map(currentProfileNameOf));
  const isUnowned = ({ name, tags }: FargateProfile): boolean => !named.has(name) && seen.isUnowned(tags[OWNER_TAG]);
  return [
    ...objects.map((object) =>
      objectNode(object, profileNodes(object, facts, counts), seen.events.get(keyText(keyOf(object))) ?? []),
    ),
    ...(facts ? facts.profiles.filter(isUnowned).map((profile) => unownedNode(profile, facts, counts)) : []),
    ...(E.isLeft(pods) ? [unchecked('Pods', 'on Fargate', pods.left)] : []),
  ];
}

type EksCluster = Awaited<ReturnType<typeof findEksCluster>>;

function clusterNode(key: ObjectKey, found: Answer<EksCluster | undefined>, children: readonly TreeNode[]): TreeNode {
  if (E.isLeft(found)) return { ...unchecked('Cluster', keyText(key), found.left), children };
  const isReady = found.right?.isReady === true;
  const result = isReady ? 'ok' : 'warning';
  const state = isReady ? 'ready' : 'not ready';
  const name = found.right ? keyText(found.right.key) : '';
  const controlPlane = { kind: CONTROL_PLANE_KIND, name, state, result } as const;
  return { kind: 'Cluster', name: keyText(key), state, result, children: [controlPlane, ...children] };
}

function eksClusterNode(name: string, region: string, eks: Answer<EksFacts>): TreeNode {
  const cluster = E.isLeft(eks) ? eks : eks.right.cluster;
  if (E.isLeft(cluster)) return unchecked('EKSCluster', name, cluster.left);
  const state = cluster.right?.status ?? 'absent';
  const facts = { region, ...(E.isRight(eks) && { account: eks.right.account }) };
  return { kind: 'EKSCluster', name, state, result: state === 'ACTIVE' ? 'ok' : 'warning', facts };
}

async function countPods(open: () => Promise<KubeAccess>, signal: AbortSignal): Promise<PodCounts> {
  await using workload = await open();
  const byProfile = Map.groupBy(await listFargatePods(workload.client, undefined, signal), profileOf);
  return new Map([...byProfile].map(([name, pods]) => [name, pods.length]));
}
