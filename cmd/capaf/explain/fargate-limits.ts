import { fieldAt, isRecord, textAt } from '../../../api/record.ts';
import type { KubeClient } from '../../../pkg/kube/types.ts';
import { type Asked, Unseen, attempt } from '../aws.ts';
import { listAt, valueAt } from '../documents.ts';
import type { Pod } from './pod.ts';
import { LARGEST_SIZE, type Size, billedSize, parseQuantity, totalRequest } from './size.ts';

/** Something in a pod that Fargate does not run. `field` is a path in the manifest. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

export const sizeOf = ({ spec }: Pod): Size | undefined =>
  billedSize(listAt(spec, 'containers'), listAt(spec, 'initContainers'));

const isTrue = (value: unknown): boolean => value === true;
const EBS_MESSAGE = 'EBS volumes cannot be mounted; use EFS';
const ARCHITECTURE = 'amd64';
const ARCHITECTURE_MESSAGE = `nodes of Fargate are ${ARCHITECTURE}`;

/**
 * By the path in the pod's spec, the values that Fargate does not run. Sources: the considerations of
 * https://docs.aws.amazon.com/eks/latest/userguide/fargate.html, and the events of fargate-scheduler in
 * aws/containers-roadmap#1517 (network and ports of the host) and pachyderm/pachyderm#4522 (paths of the host).
 */
const REFUSED: readonly (readonly [path: RegExp, isRefused: (value: unknown) => boolean, message: string])[] = [
  [/^\.hostNetwork$/, isTrue, 'the network of the host cannot be used'],
  [/^\.volumes\[\d+\]\.hostPath$/, isRecord, 'paths of the host cannot be mounted'],
  [/^\.volumes\[\d+\]\.awsElasticBlockStore$/, isRecord, EBS_MESSAGE],
  [/^\.nodeSelector\["(?:beta\.)?kubernetes\.io\/arch"\]$/, (value) => value !== ARCHITECTURE, ARCHITECTURE_MESSAGE],
  [
    /^\.(?:c|initC|ephemeralC)ontainers\[\d+\]\.securityContext\.privileged$/,
    isTrue,
    'privileged containers do not run on Fargate',
  ],
  [
    /^\.(?:c|initC|ephemeralC)ontainers\[\d+\]\.ports\[\d+\]\.host(?:Port|IP)$/,
    Boolean,
    'ports of the host cannot be used; use a Service',
  ],
  [
    /^\.(?:c|initC|ephemeralC)ontainers\[\d+\]\.resources\.(?:requests|limits)\["(?:.*(?:gpu|neuron)|nvidia\.com\/)/,
    (value) => (parseQuantity(value) ?? 0) > 0,
    'Fargate has no GPUs and no accelerators',
  ],
];

/** 175 GiB in thousandths of a byte; from the page of the sizes. */
const MAX_STORAGE = 175 * 1024 ** 3 * 1000;

/** What of a pod Fargate does not run, except volumes that it claims. */
export function* findViolations(pod: Pod): Generator<Violation> {
  const { kind, owner, spec, path } = pod;
  if (owner === 'DaemonSet') {
    const field = kind === 'Pod' ? 'metadata.ownerReferences' : 'kind';
    yield { field, message: 'pods of a DaemonSet do not run on Fargate; use a sidecar container' };
  }
  for (const [field, value] of fieldsIn(spec))
    for (const [refused, isRefused, message] of REFUSED)
      if (refused.test(field) && isRefused(value)) yield { field: `${path}${field}`, message };
  const rule = ['affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution'];
  const terms = listAt(valueAt(spec, rule), 'nodeSelectorTerms');
  // A node needs to match one of the terms only.
  if (terms.length > 0 && terms.every((term) => listAt(term, 'matchExpressions').some(excludesArchitecture)))
    yield { field: [path, ...rule].join('.'), message: ARCHITECTURE_MESSAGE };
  const field = `${path}.containers`;
  if (sizeOf(pod) === undefined)
    yield { field, message: `with 256 MiB for Kubernetes they exceed the largest size of Fargate, ${LARGEST_SIZE}` };
  if (totalRequest(listAt(spec, 'containers'), 'ephemeral-storage') > MAX_STORAGE)
    yield { field, message: 'they request more ephemeral storage than the 175 GiB of Fargate' };
}

/** Each value with its path, such as `.containers[0].image`. */
function* fieldsIn(value: unknown, path = ''): Generator<readonly [path: string, value: unknown]> {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* fieldsIn(item, `${path}[${index}]`);
  else yield [path, value];
  for (const [name, inner] of Object.entries(isRecord(value) ? value : {}))
    yield* fieldsIn(inner, /^\w+$/.test(name) ? `${path}.${name}` : `${path}["${name}"]`);
}

/** Every node has a label with its architecture. */
const excludesArchitecture = (expression: unknown): boolean => {
  if (!/^(?:beta\.)?kubernetes\.io\/arch$/.test(textAt(expression, 'key') ?? '')) return false;
  const isListed = listAt(expression, 'values').includes(ARCHITECTURE);
  const operator = textAt(expression, 'operator');
  return operator === 'DoesNotExist' || (operator === 'In' && !isListed) || (operator === 'NotIn' && isListed);
};

/** Of the EBS CSI driver, of EKS Auto Mode, and of Kubernetes before CSI. */
const EBS_PROVISIONERS = ['ebs.csi.aws.com', 'ebs.csi.eks.amazonaws.com', 'kubernetes.io/aws-ebs'];
const CLAIMS = { group: '', version: 'v1', plural: 'persistentvolumeclaims' };
const CLASSES = { group: 'storage.k8s.io', version: 'v1', plural: 'storageclasses' };

/** For each claim of the pod, whether its StorageClass makes EBS volumes. Without `client` nothing is seen. */
export const findEbsVolumes = (pod: Pod, client: KubeClient | undefined, signal: AbortSignal) =>
  Array.fromAsync(listAt(pod.spec, 'volumes').entries(), async ([index, volume]): Promise<Asked<Violation>> => {
    const field = `${pod.path}.volumes[${index}]`;
    const findEbs = async (): Promise<Violation | undefined> => {
      const name = textAt(fieldAt(volume, 'persistentVolumeClaim'), 'claimName');
      if (name === undefined) return undefined;
      if (client === undefined) throw new Unseen('its cluster was not asked');
      const claim = await client.get(CLAIMS, { namespace: pod.namespace, name }, { signal });
      const className = textAt(fieldAt(claim, 'spec'), 'storageClassName');
      const found = className && (await client.get(CLASSES, { namespace: '', name: className }, { signal }));
      const provisioner = textAt(found, 'provisioner');
      if (provisioner === undefined) throw new Unseen('no claim with a StorageClass is there');
      return EBS_PROVISIONERS.includes(provisioner) ? { field, message: EBS_MESSAGE } : undefined;
    };
    return [`whether ${field} is an EBS volume`, await attempt(findEbs)];
  });
