import type { Api, KubeObject, OwnerReference } from '../envtest/api.ts';

/** Label of a CRD that `clusterctl` has installed: it moves objects of such kinds alone. */
export const CLUSTERCTL_LABEL = 'clusterctl.cluster.x-k8s.io';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const MOVE_LABEL = 'clusterctl.cluster.x-k8s.io/move';
const DELETE_FOR_MOVE = 'clusterctl.cluster.x-k8s.io/delete-for-move';
const CLUSTER_KIND = 'Cluster';

interface Crd extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly storage: boolean }[];
  };
}

/** An object that moves. */
interface Node {
  /** On both sides. */
  readonly path: string;
  readonly collection: string;
  readonly object: KubeObject;
  readonly isForced: boolean;
  /** At the target, once it is there. */
  uid?: string;
}

/**
 * What `clusterctl move` does (cmd/clusterctl/client/cluster/mover.go and objectgraph.go of Cluster API v1.12), step by step,
 * for machines on which it cannot be had. Objects of a namespace alone; nothing of topologies, ClusterClasses and Secrets.
 */
export async function imitateMove(from: Api, to: Api, namespace: string): Promise<void> {
  const nodes = await discover(from, namespace);
  const clusters = nodes.filter(({ object }) => object.kind === CLUSTER_KIND);
  for (const { object } of clusters) expectMovable(object);
  for (const { path } of clusters) await from.patch(path, { spec: { paused: true } });
  const groups = inOrderOfOwnership(nodes);
  const byUid = new Map(nodes.map((node) => [node.object.metadata.uid, node]));
  for (const node of groups.flat()) await create(node, from, to, byUid);
  for (const node of groups.toReversed().flat()) await remove(node, from);
  for (const { path } of clusters) await to.patch(path, { spec: { paused: null } });
}

/** The Clusters, what they own directly or not, and what a label has moved whoever owns it. */
async function discover(api: Api, namespace: string): Promise<readonly Node[]> {
  const { items: crds } = await api.list<Crd>(CRDS, { labelSelector: CLUSTERCTL_LABEL });
  const found = await Promise.all(
    crds
      .filter(({ spec }) => spec.scope === 'Namespaced')
      .map(async ({ metadata, spec }) => {
        const version = spec.versions.find(({ storage }) => storage)?.name;
        const collection = `/apis/${spec.group}/${version}/namespaces/${namespace}/${spec.names.plural}`;
        const isForced = (labels: KubeObject['metadata']['labels'] = {}): boolean => MOVE_LABEL in labels;
        return (await api.list(collection)).items.map((object): Node => ({
          path: `${collection}/${object.metadata.name}`,
          collection,
          object,
          isForced: isForced(metadata.labels) || isForced(object.metadata.labels),
        }));
      }),
  );
  const all = found.flat();
  const isMoved = ({ object, isForced }: Node): boolean =>
    isForced ||
    object.kind === CLUSTER_KIND ||
    all.some((other) => ownersOf(object).some(({ uid }) => uid === other.object.metadata.uid) && isMoved(other));
  return all.filter(isMoved);
}

function expectMovable({ metadata, spec, status }: KubeObject): void {
  const name = `${metadata.namespace}/${metadata.name}`;
  if (spec?.['paused'] === true)
    throw new Error(`cannot start operation while the following Clusters are paused: ${name}`);
  const isInitialized = status?.conditions?.some(
    (condition) => condition.type === 'ControlPlaneInitialized' && condition.status === 'True',
  );
  if (isInitialized !== true) {
    throw new Error(`cannot start the move operation while the control plane for ${name} is not yet initialized`);
  }
}

/** An object comes after its owners; what nothing owns comes first, together with the Clusters. */
function inOrderOfOwnership(nodes: readonly Node[]): readonly (readonly Node[])[] {
  const groups: Node[][] = [];
  const isPlaced = (uid: string): boolean =>
    groups.some((group) => group.some(({ object }) => object.metadata.uid === uid));
  for (;;) {
    const group = nodes.filter(
      ({ object }) => !isPlaced(object.metadata.uid) && ownersOf(object).every(({ uid }) => isPlaced(uid)),
    );
    if (group.length === 0) return groups;
    groups.push(group);
  }
}

/** With labels, annotations and finalizers, the owners as they are called at the target, and without the status. */
async function create(node: Node, from: Api, to: Api, byUid: ReadonlyMap<string, Node>): Promise<void> {
  const object = await from.get(node.path);
  const { resourceVersion: _version, ...metadata } = object.metadata;
  const ownerReferences = ownersOf(object).map((owner) => ({ ...owner, uid: byUid.get(owner.uid)?.uid }));
  const created = await to.post(node.collection, { ...object, metadata: { ...metadata, ownerReferences } });
  node.uid = created.metadata.uid;
}

async function remove({ path }: Node, from: Api): Promise<void> {
  const annotations = { op: 'add', path: '/metadata/annotations', value: { [DELETE_FOR_MOVE]: '' } };
  const { metadata } = await from.patch(path, [annotations], 'json');
  await from.delete(path);
  if ((metadata.finalizers ?? []).length > 0) await from.patch(path, { metadata: { finalizers: [] } });
}

const ownersOf = ({ metadata }: KubeObject): readonly OwnerReference[] => metadata.ownerReferences ?? [];
