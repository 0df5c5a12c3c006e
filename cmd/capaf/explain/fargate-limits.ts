import { fieldAt, isRecord, textAt } from '../../../api/record.ts';
import { KubeError } from '../../../pkg/kube/errors.ts';
import type { KubeClient } from '../../../pkg/kube/types.ts';
import { valueAt } from '../documents.ts';
import { type Pod, listAt } from './pod.ts';
import { LARGEST_SIZE, type Size, billedSize, parseQuantity, totalRequest } from './size.ts';

/** Something in a pod that Fargate does not run. `field` is a path in the manifest. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

/** `undefined` if the pod is larger than the largest size. */
export const sizeOf = ({ spec }: Pod): Size | undefined =>
  billedSize(listAt(spec, 'containers'), listAt(spec, 'initContainers'));

/**
 * What of a pod Fargate does not run, except volumes that it claims. Sources: the considerations of
 * https://docs.aws.amazon.com/eks/latest/userguide/fargate.html, and the events of fargate-scheduler in
 * aws/containers-roadmap#1517 (network and ports of the host) and pachyderm/pachyderm#4522 (paths of the host).
 */
export const findViolations = (pod: Pod): readonly Violation[] => [
  ...violationsOfPod(pod),
  ...violationsOfNodeSelection(pod),
  ...violationsOfContainers(pod),
  ...violationsOfSize(pod),
];

const EBS_MESSAGE = 'EBS volumes cannot be mounted; use EFS';

function* violationsOfPod({ kind, owner, spec, path }: Pod): Generator<Violation> {
  if (owner === 'DaemonSet') {
    const field = kind === 'Pod' ? 'metadata.ownerReferences' : 'kind';
    yield { field, message: 'pods of a DaemonSet do not run on Fargate; use a sidecar container' };
  }
  if (fieldAt(spec, 'hostNetwork') === true)
    yield { field: `${path}.hostNetwork`, message: 'the network of the host cannot be used' };
  for (const [index, volume] of listAt(spec, 'volumes').entries()) {
    const field = `${path}.volumes[${index}]`;
    if (isRecord(fieldAt(volume, 'hostPath')))
      yield { field: `${field}.hostPath`, message: 'paths of the host cannot be mounted' };
    if (isRecord(fieldAt(volume, 'awsElasticBlockStore')))
      yield { field: `${field}.awsElasticBlockStore`, message: EBS_MESSAGE };
  }
}

const ARCHITECTURE_LABELS: readonly string[] = ['kubernetes.io/arch', 'beta.kubernetes.io/arch'];
const ARCHITECTURE = 'amd64';
const ARCHITECTURE_MESSAGE = `nodes of Fargate are ${ARCHITECTURE}`;

function* violationsOfNodeSelection({ spec, path }: Pod): Generator<Violation> {
  for (const [key, value] of entriesOf(fieldAt(spec, 'nodeSelector')))
    if (ARCHITECTURE_LABELS.includes(key) && value !== ARCHITECTURE)
      yield { field: `${path}.nodeSelector["${key}"]`, message: ARCHITECTURE_MESSAGE };
  const rule = ['affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution'];
  const terms = listAt(valueAt(spec, rule), 'nodeSelectorTerms');
  // A node needs to match one of the terms only.
  if (terms.length > 0 && terms.every((term) => listAt(term, 'matchExpressions').some(excludesArchitecture)))
    yield { field: [path, ...rule].join('.'), message: ARCHITECTURE_MESSAGE };
}

function excludesArchitecture(expression: unknown): boolean {
  if (!ARCHITECTURE_LABELS.includes(textAt(expression, 'key') ?? '')) return false;
  const isListed = listAt(expression, 'values').includes(ARCHITECTURE);
  const operator = textAt(expression, 'operator');
  return operator === 'In' ? !isListed : operator === 'NotIn' && isListed;
}

const entriesOf = (value: unknown): readonly [string, unknown][] => (isRecord(value) ? Object.entries(value) : []);

function* violationsOfContainers({ spec, path }: Pod): Generator<Violation> {
  for (const list of ['containers', 'initContainers', 'ephemeralContainers'])
    for (const [index, container] of listAt(spec, list).entries()) {
      const field = `${path}.${list}[${index}]`;
      if (valueAt(container, ['securityContext', 'privileged']) === true)
        yield { field: `${field}.securityContext.privileged`, message: 'privileged containers do not run on Fargate' };
      for (const [at, port] of listAt(container, 'ports').entries())
        for (const name of ['hostPort', 'hostIP'])
          if (fieldAt(port, name))
            yield {
              field: `${field}.ports[${at}].${name}`,
              message: 'ports of the host cannot be used; use a Service',
            };
      for (const kind of ['requests', 'limits'])
        for (const [name, quantity] of entriesOf(valueAt(container, ['resources', kind]))) {
          const amount = parseQuantity(quantity);
          const at = `${field}.resources.${kind}["${name}"]`;
          if (amount === undefined) yield { field: at, message: 'is not a quantity such as 500m or 1Gi' };
          else if (amount > 0n && /gpu|neuron|^nvidia\.com\//.test(name))
            yield { field: at, message: 'Fargate has no GPUs and no accelerators' };
        }
    }
}

/** 175 GiB in thousandths of a byte; from the page of the sizes. */
const MAX_STORAGE = 175n * 1024n ** 3n * 1000n;

function* violationsOfSize(pod: Pod): Generator<Violation> {
  const field = `${pod.path}.containers`;
  if (sizeOf(pod) === undefined)
    yield { field, message: `with 256 MiB for Kubernetes they exceed the largest size of Fargate, ${LARGEST_SIZE}` };
  if (totalRequest(listAt(pod.spec, 'containers'), 'ephemeral-storage') > MAX_STORAGE)
    yield { field, message: 'they request more ephemeral storage than the 175 GiB of Fargate' };
}

/** Of the EBS CSI driver, of EKS Auto Mode, and of Kubernetes before CSI. */
const EBS_PROVISIONERS = ['ebs.csi.aws.com', 'ebs.csi.eks.amazonaws.com', 'kubernetes.io/aws-ebs'];
const CLAIMS = { group: '', version: 'v1', plural: 'persistentvolumeclaims' };
const CLASSES = { group: 'storage.k8s.io', version: 'v1', plural: 'storageclasses' };

/** The claims of a pod whose StorageClass makes EBS volumes. Without `client` all claims are `unseen`. */
export async function findEbsVolumes(pod: Pod, client: KubeClient | undefined, signal: AbortSignal) {
  const violations: Violation[] = [];
  const unseen: string[] = [];
  for (const { field, name } of claimsOf(pod)) {
    const tell = (why: string): unknown => unseen.push(`whether ${field} is an EBS volume: ${why}`);
    try {
      const claim = name && (await client?.get(CLAIMS, { namespace: pod.namespace, name }, { signal }));
      const className = textAt(fieldAt(claim, 'spec'), 'storageClassName');
      const found = className && (await client?.get(CLASSES, { namespace: '', name: className }, { signal }));
      const provisioner = textAt(found, 'provisioner');
      if (provisioner === undefined)
        tell(client ? 'no claim with a StorageClass is there' : 'its cluster was not asked');
      else if (EBS_PROVISIONERS.includes(provisioner)) violations.push({ field, message: EBS_MESSAGE });
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      tell(error.message);
    }
  }
  return { violations, unseen };
}

function* claimsOf({ spec, path, name: pod, hasClaimTemplates }: Pod) {
  for (const [index, volume] of listAt(spec, 'volumes').entries()) {
    const claim = textAt(fieldAt(volume, 'persistentVolumeClaim'), 'claimName');
    const isEphemeral = fieldAt(volume, 'ephemeral') !== undefined;
    // Kubernetes names the claim of an ephemeral volume `<pod>-<volume>`.
    const name = claim ?? (isEphemeral ? `${pod}-${textAt(volume, 'name') ?? ''}` : undefined);
    if (name !== undefined) yield { field: `${path}.volumes[${index}]`, name };
  }
  // A claim of a template has a name only in the pods that are made from it.
  if (hasClaimTemplates) yield { field: 'spec.volumeClaimTemplates', name: undefined };
}
