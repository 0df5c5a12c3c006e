import type { KubeClient, ObjectKey, Resource } from 'controller-runtime/client';
import { fieldAt, listAt, textAt } from 'controller-runtime/json';
import {
  findClassProblem,
  findDriverProblem,
  findVolumeProblem,
  isCreatedByEfs,
} from '../../../pkg/fargate/pod-limits.ts';
import { type Asked, Unseen, tolerate } from '../aws.ts';
import type { Violation } from './fargate-limits.ts';
import type { Pod } from './pod.ts';

/** Claims, StorageClasses, and volumes are looked up in the documents of the pod's file, and in the pod's cluster. */
interface VolumeSource {
  readonly documents: readonly unknown[];
  /** `undefined` if the cluster is not read. `why` then says why. */
  readonly client: KubeClient | undefined;
  readonly why: string;
  readonly signal: AbortSignal;
}

/** A volume that Fargate does not mount, or a text about a volume that may prevent the pod from starting. */
export type VolumeFinding = Violation | string;

/** The name of a PersistentVolumeClaim that the pod uses, or the template from which Kubernetes creates it. */
interface Claim {
  readonly field: string;
  readonly name?: string;
  readonly template?: unknown;
}

function claimsOf({ spec, path, claimTemplates }: Pod): readonly Claim[] {
  const ofVolumes = listAt(spec, 'volumes').flatMap((volume, index): readonly Claim[] => {
    const field = `${path}.volumes[${index}]`;
    const name = textAt(fieldAt(volume, 'persistentVolumeClaim'), 'claimName');
    const template = fieldAt(fieldAt(volume, 'ephemeral'), 'volumeClaimTemplate');
    if (name !== undefined) return [{ field, name }];
    return template === undefined ? [] : [{ field: `${field}.ephemeral`, template }];
  });
  const ofTemplates = claimTemplates.map((template, index): Claim => {
    return { field: `spec.volumeClaimTemplates[${index}]`, template };
  });
  return [...ofVolumes, ...ofTemplates];
}

export const findClaims = (pod: Pod, source: VolumeSource): Promise<readonly Asked<VolumeFinding>[]> =>
  Promise.all(
    claimsOf(pod).map(async (claim): Promise<Asked<VolumeFinding>> => {
      const find = () => findClaimProblem(claim, pod.namespace, source);
      return [`whether Fargate can mount ${claim.field}`, await tolerate(source.signal, find)];
    }),
  );

async function findClaimProblem({ field, name, template }: Claim, namespace: string, source: VolumeSource) {
  const key = { namespace, name: name ?? '' };
  const live = template === undefined ? await readLive(source, CLAIMS, key) : undefined;
  const planned = template ?? findInFile(source, CLAIMS, key);
  const what = `PersistentVolumeClaim ${namespace}/${key.name}`;
  if (live === undefined && planned === undefined) {
    if (source.client === undefined) throw new Unseen(source.why);
    return { field, message: `there is no ${what}; create the claim first, and the pod when the claim is Bound` };
  }
  const { problem, isCreated } = await findMount(source, live ?? planned);
  if (problem !== undefined) return { field, message: problem };
  const phase = textAt(live?.['status'], 'phase');
  if (phase === 'Bound') return undefined;
  const advice = isCreated ? `. ${NOT_CREATED}` : '';
  if (live === undefined) return `${field}: ${BINDS_LATER}${advice}`;
  return { field, message: `${what} is ${phase ?? 'not Bound'}; ${ASKS_ONCE}${advice}` };
}

/** See kubernetes-sigs/aws-efs-csi-driver#793 and aws/aws-cdk#23375. */
const ASKS_ONCE = 'Fargate asks for it only once, so create the pod again when the claim is Bound';
const BINDS_LATER =
  'Fargate asks only once whether the claim is Bound, perhaps too early; then create the pod again when the claim is Bound';
/**
 * https://docs.aws.amazon.com/eks/latest/userguide/efs-csi.html. In kubernetes-sigs/aws-efs-csi-driver#793, a pod with
 * such a volume nevertheless started when it was recreated.
 */
const NOT_CREATED =
  'AWS does not support volumes on Fargate that the EFS driver creates; create a PersistentVolume for the claim';

const CLAIMS: Resource = { group: '', version: 'v1', plural: 'persistentvolumeclaims' };
const VOLUMES: Resource = { group: '', version: 'v1', plural: 'persistentvolumes' };
const CLASSES: Resource = { group: 'storage.k8s.io', version: 'v1', plural: 'storageclasses' };
const KINDS = new Map([
  [CLAIMS.plural, 'PersistentVolumeClaim'],
  [VOLUMES.plural, 'PersistentVolume'],
  [CLASSES.plural, 'StorageClass'],
]);

/** EKS creates this class in each cluster. */
const EKS_CLASS = { kind: 'StorageClass', metadata: { name: 'gp2' }, provisioner: 'kubernetes.io/aws-ebs' };

function findInFile({ documents, client }: VolumeSource, resource: Resource, key: ObjectKey): unknown {
  const isIt = (document: unknown): boolean => {
    const metadata = fieldAt(document, 'metadata');
    const isThere = key.namespace === '' || (textAt(metadata, 'namespace') ?? key.namespace) === key.namespace;
    return fieldAt(document, 'kind') === KINDS.get(resource.plural) && textAt(metadata, 'name') === key.name && isThere;
  };
  return [...documents, ...(client === undefined ? [EKS_CLASS] : [])].find(isIt);
}

/** Returns `undefined` if the object does not exist, or if the cluster is not read. @throws KubeError */
const readLive = ({ client, signal }: VolumeSource, resource: Resource, key: ObjectKey) =>
  client?.get(resource, key, { signal });

/** Reads an object from the file or, if the file lacks it, from the cluster. @throws Unseen; KubeError */
async function read(source: VolumeSource, resource: Resource, key: ObjectKey): Promise<unknown> {
  const found = findInFile(source, resource, key) ?? (await readLive(source, resource, key));
  if (found === undefined && source.client === undefined) throw new Unseen(source.why);
  return found;
}

interface Mount {
  readonly problem?: string | undefined;
  /** Whether the EFS driver creates the volume. */
  readonly isCreated?: boolean;
}

/** `claim` can be a claim template. @throws Unseen */
async function findMount(source: VolumeSource, claim: unknown): Promise<Mount> {
  const annotations = fieldAt(fieldAt(claim, 'metadata'), 'annotations');
  const spec = fieldAt(claim, 'spec');
  // Kubernetes sets this annotation while it provisions the volume. If Fargate does not mount this driver's volumes,
  // capaf needs no permission to read classes and volumes.
  const provisioner = textAt(annotations, 'volume.kubernetes.io/storage-provisioner');
  const problem = provisioner === undefined ? undefined : findDriverProblem(provisioner);
  if (problem !== undefined) return { problem };
  const volume = textAt(spec, 'volumeName');
  if (volume !== undefined)
    return { problem: findVolumeProblem(await read(source, VOLUMES, { namespace: '', name: volume })) };
  const className = fieldAt(spec, 'storageClassName');
  // An empty class means that the claim waits for a volume that an administrator creates, maybe on EFS.
  if (className === '') return {};
  const isNamed = typeof className === 'string';
  const planned = source.documents.find(
    (each) =>
      isNamed &&
      fieldAt(each, 'kind') === KINDS.get(VOLUMES.plural) &&
      fieldAt(fieldAt(each, 'spec'), 'storageClassName') === className,
  );
  if (planned !== undefined) return { problem: findVolumeProblem(planned) };
  const found = isNamed
    ? await read(source, CLASSES, { namespace: '', name: className })
    : await findDefaultClass(source);
  if (textAt(found, 'provisioner') === undefined)
    throw new Unseen(isNamed ? `there is no StorageClass ${className}` : 'there is no default StorageClass');
  return { problem: findClassProblem(found), isCreated: isCreatedByEfs(found) };
}

/** If there are several default classes, Kubernetes uses the newest. @throws Unseen */
async function findDefaultClass({ client, why, signal }: VolumeSource): Promise<unknown> {
  if (client === undefined) throw new Unseen(why);
  const { items } = await client.list(CLASSES, { signal });
  return items
    .filter(({ metadata }) => metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true')
    .toSorted((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1))[0];
}
