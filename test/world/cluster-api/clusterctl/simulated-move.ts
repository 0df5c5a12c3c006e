import type { ApiClient, RawObject, RawOwnerReference } from '../../../envtest/clients/api.ts';

/**
 * The label that clusterctl sets on the CRDs that it installs. `clusterctl move` looks for objects only in the kinds of
 * CRDs with this label.
 */
export const CLUSTERCTL_LABEL = 'clusterctl.cluster.x-k8s.io';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const MOVE_LABEL = 'clusterctl.cluster.x-k8s.io/move';
const DELETE_FOR_MOVE = 'clusterctl.cluster.x-k8s.io/delete-for-move';
const CLUSTER_KIND = 'Cluster';

interface Crd extends RawObject {
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly storage: boolean }[];
  };
}

/** An object that is moved to another management cluster. */
interface Node {
  /** The path of the object, which is the same in the source and the target management cluster. */
  readonly path: string;
  readonly collection: string;
  readonly object: RawObject;
  readonly isForced: boolean;
  /** The uid of the object in the target management cluster; undefined: the object does not exist there yet. */
  uid?: string;
}

/**
 * Simulates `clusterctl move` on machines without clusterctl, with the same steps as Cluster API v1.12
 * (cmd/clusterctl/client/cluster/mover.go and objectgraph.go). Cluster-scoped objects, topologies, ClusterClasses and
 * Secrets are not moved.
 */
export async function simulateMove(from: ApiClient, to: ApiClient, namespace: string): Promise<void> {
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

/**
 * Finds the objects to move: the Clusters, the objects that a Cluster owns directly or indirectly, and the objects that
 * have the label `clusterctl.cluster.x-k8s.io/move` themselves or on their CRD.
 */
async function discover(api: ApiClient, namespace: string): Promise<readonly Node[]> {
  const { items: crds } = await api.list<Crd>(CRDS, { labelSelector: CLUSTERCTL_LABEL });
  const found = await Promise.all(
    crds
      .filter(({ spec }) => spec.scope === 'Namespaced')
      .map(async ({ metadata, spec }) => {
        const version = spec.versions.find(({ storage }) => storage)?.name;
        const collection = `/apis/${spec.group}/${version}/namespaces/${namespace}/${spec.names.plural}`;
        const isForced = (labels: RawObject['metadata']['labels'] = {}): boolean => MOVE_LABEL in labels;
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

function expectMovable({ metadata, spec, status }: RawObject): void {
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

/**
 * Groups objects so that owners come first: the first group has the objects without owners, and the owners of each
 * later object are in earlier groups.
 */
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

/**
 * Creates an object in the target management cluster, with its labels, annotations and finalizers but without its
 * status. The owner references get the uids that the owners have in the target management cluster.
 */
async function create(node: Node, from: ApiClient, to: ApiClient, byUid: ReadonlyMap<string, Node>): Promise<void> {
  const object = await from.get(node.path);
  const { resourceVersion: _version, ...metadata } = object.metadata;
  const ownerReferences = ownersOf(object).map((owner) => ({ ...owner, uid: byUid.get(owner.uid)?.uid }));
  const created = await to.post(node.collection, { ...object, metadata: { ...metadata, ownerReferences } });
  node.uid = created.metadata.uid;
}

async function remove({ path }: Node, from: ApiClient): Promise<void> {
  const annotations = { op: 'add', path: '/metadata/annotations', value: { [DELETE_FOR_MOVE]: '' } };
  const { metadata } = await from.patch(path, [annotations], 'json');
  await from.delete(path);
  if ((metadata.finalizers ?? []).length > 0) await from.patch(path, { metadata: { finalizers: [] } });
}

const ownersOf = ({ metadata }: RawObject): readonly RawOwnerReference[] => metadata.ownerReferences ?? [];
