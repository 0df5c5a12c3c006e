import { fieldAt, isRecord, listAt, textAt } from 'controller-runtime/json';
import { toText } from 'controller-runtime/text';
import { LARGEST_SIZE, parseQuantity, sizeOfSpec, totalRequest } from './pod-size.ts';

export interface FieldProblem {
  /** Such as `.containers[0].securityContext.privileged`. */
  readonly path: string;
  readonly message: string;
  /** `refused`: the pod does not start. `risky`: it might not. `ignored`: it starts, but the field does not work. */
  readonly severity: 'refused' | 'risky' | 'ignored';
}

const NO_EBS = 'EBS volumes cannot be mounted; use EFS';

/** `kind` is a kind of volume, or the driver of a claimed volume. */
const notMounted = (kind: string): string => `Fargate does not mount volumes of the kind ${kind}; use EFS`;

const isTrue = (value: unknown): boolean => value === true;

/** The capabilities that every container has. Fargate accepts them in `add`, where CoreDNS lists NET_BIND_SERVICE. */
const CAPABILITIES: readonly unknown[] = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'NET_RAW',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
];

/** Explains a capability such as CAP_CHOWN. Charts write it, although Kubernetes calls it CHOWN (frappe/helm#182). */
function hintFor(capability: string): string {
  const name = capability.replace(/^CAP_/, '');
  return CAPABILITIES.includes(name) ? `; remove it, because each container has ${name}` : '';
}

type Rule = readonly [
  path: RegExp,
  applies: (value: unknown) => boolean,
  message: string | ((value: unknown, path: string) => string),
];

/**
 * The values that Fargate refuses, by path in the pod's spec. Sources: the considerations of
 * https://docs.aws.amazon.com/eks/latest/userguide/fargate.html, and the events of fargate-scheduler in
 * aws/containers-roadmap#1517 (network and ports of the host), frappe/helm#182 and aws/aws-app-mesh-roadmap#158
 * (capabilities), pachyderm/pachyderm#4522 and cert-manager/csi-driver#267 (volumes). Fargate mounts only the kinds of
 * volumes that the long pattern excludes, and of claimed volumes only those of EFS.
 */
const REFUSED: readonly Rule[] = [
  [/^\.host(?:Network|PID|IPC)$/, isTrue, 'the namespaces of the host cannot be used'],
  [/^\.os\.name$/, (value) => value !== 'linux', 'nodes of Fargate run Linux'],
  [/^\.volumes\[\d+\]\.hostPath$/, isRecord, 'paths of the host cannot be mounted'],
  [/^\.volumes\[\d+\]\.awsElasticBlockStore$/, isRecord, NO_EBS],
  [
    /^\.volumes\[\d+\]\.(?!hostPath$|awsElasticBlockStore$|configMap$|csi$|downwardAPI$|emptyDir$|ephemeral$|persistentVolumeClaim$|projected$|secret$)\w+$/,
    isRecord,
    (_, path) => notMounted(path.replace(/^.*\./, '')),
  ],
  [
    /^\.volumes\[\d+\]\.csi$/,
    isRecord,
    (value) =>
      `Fargate does not mount inline volumes of the CSI driver ${textAt(value, 'driver') ?? ''}; for certificates and secrets use a Secret, for data a claim on EFS`,
  ],
  [/^\.resourceClaims\[\d+\]$/, isRecord, 'nodes of Fargate have no devices to claim'],
  [
    /^\.(?:c|initC|ephemeralC)ontainers\[\d+\]\.securityContext\.privileged$/,
    isTrue,
    'privileged containers do not run on Fargate',
  ],
  [
    /^\.(?:c|initC|ephemeralC)ontainers\[\d+\]\.securityContext\.capabilities\.add\[\d+\]$/,
    (value) => !CAPABILITIES.includes(value),
    (value) => `Fargate does not add the capability ${toText(value)}${hintFor(toText(value))}`,
  ],
  [
    /^\.(?:c|initC|ephemeralC)ontainers\[\d+\]\.ports\[\d+\]\.host(?:Port|IP)$/,
    Boolean,
    'ports of the host cannot be used; use a Service',
  ],
  [
    /^\.(?:(?:c|initC|ephemeralC)ontainers\[\d+\]\.)?resources\.(?:requests|limits)(?!\.cpu$|\.memory$|\["ephemeral-storage"\]$)./,
    (value) => (parseQuantity(value) ?? 0) > 0,
    'nodes of Fargate offer cpu, memory, and ephemeral-storage only, and no GPUs',
  ],
];

/**
 * The values that fargate-scheduler has refused (kubernetes/ingress-nginx#4888), but may accept by now: AWS's
 * considerations do not mention them.
 */
const RISKY: readonly Rule[] = [
  [
    /^\.(?:c|initC|ephemeralC)ontainers\[\d+\]\.securityContext\.allowPrivilegeEscalation$/,
    isTrue,
    'Fargate may refuse it; set it to false unless the container needs it',
  ],
];

/**
 * The values that Fargate ignores, or that conflict with Fargate's own use. Sources:
 * external-secrets/external-secrets#1981 and aws/containers-roadmap#824, #2274.
 */
const IGNORED: readonly Rule[] = [
  [
    /^\.(?:c|initC)ontainers\[\d+\]\.ports\[\d+\]\.containerPort$/,
    (value) => value === 10_250,
    'the kubelet has this port, and the same address as the pod, so clients may reach the kubelet; use another port',
  ],
  [
    /^\.topologySpreadConstraints\[\d+\]$/,
    isRecord,
    'Fargate ignores it: each pod has a node of its own, in a zone that EKS chooses among the subnets of the profile',
  ],
  [
    /^\.affinity\.podAffinity\.requiredDuringSchedulingIgnoredDuringExecution\[\d+\]$/,
    isRecord,
    'Fargate ignores it: each pod has a node of its own',
  ],
  [
    /^\.containers\[\d+\]\.env\[\d+\]\.name$/,
    (value) => value === 'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    'EKS Pod Identity does not work on Fargate; use an IAM role for the service account (IRSA)',
  ],
];

const RULES = [
  ...REFUSED.map((rule) => ({ rule, severity: 'refused' as const })),
  ...RISKY.map((rule) => ({ rule, severity: 'risky' as const })),
  ...IGNORED.map((rule) => ({ rule, severity: 'ignored' as const })),
];

/** Returns the problems of all fields except those that require node labels (see node-labels.ts). */
export function findFieldProblems(spec: unknown): readonly FieldProblem[] {
  const sizes = [...findSizeProblems(spec)].map((each) => ({ ...each, severity: 'refused' as const }));
  return [...applyRules(spec), ...sizes];
}

/** 175 GiB in thousandths of a byte. Source: AWS's page about pod sizes, see pod-size.ts. */
const MAX_STORAGE = 175 * 1024 ** 3 * 1000;

function* findSizeProblems(spec: unknown): Generator<Omit<FieldProblem, 'severity'>> {
  const path = '.containers';
  if (sizeOfSpec(spec) === undefined)
    yield { path, message: `with 256 MiB for Kubernetes they exceed the largest size of Fargate, ${LARGEST_SIZE}` };
  if (totalRequest(listAt(spec, 'containers'), 'ephemeral-storage') > MAX_STORAGE)
    yield { path, message: 'they request more ephemeral storage than the 175 GiB of Fargate' };
}

function applyRules(spec: unknown): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  visitFields(spec, '', (path, value) => {
    for (const { rule, severity } of RULES) {
      const [pattern, applies, message] = rule;
      if (!applies(value) || !pattern.test(path)) continue;
      problems.push({ path, message: typeof message === 'string' ? message : message(value, path), severity });
    }
  });
  return problems;
}

/** A path is a text such as `.containers[0].image`. */
function visitFields(value: unknown, path: string, visit: (path: string, value: unknown) => void): void {
  visit(path, value);
  if (Array.isArray(value)) for (const [index, item] of value.entries()) visitFields(item, `${path}[${index}]`, visit);
  for (const [name, inner] of Object.entries(isRecord(value) ? value : {}))
    visitFields(inner, /^\w+$/.test(name) ? `${path}.${name}` : `${path}["${name}"]`, visit);
}

const EFS = 'efs.csi.aws.com';
/** The names of the EBS CSI driver, of EKS Auto Mode's driver, and of the in-tree provisioner. */
const EBS = ['ebs.csi.aws.com', 'ebs.csi.eks.amazonaws.com', 'kubernetes.io/aws-ebs'];
/** For volumes that an administrator creates. */
const NO_PROVISIONER = 'kubernetes.io/no-provisioner';

/** Returns why Fargate pods cannot use volumes of `driver`, which is a CSI driver or a StorageClass's provisioner. */
export const findDriverProblem = (driver: string): string | undefined => {
  if (driver === EFS || driver === NO_PROVISIONER) return undefined;
  return EBS.includes(driver) ? NO_EBS : notMounted(driver);
};

const VOLUME_KINDS = ['awsElasticBlockStore', 'hostPath', 'local', 'nfs'];

/**
 * The EFS CSI driver also mounts S3 file systems, but not on Fargate:
 * https://docs.aws.amazon.com/eks/latest/userguide/s3files-csi.html
 */
const NO_S3_FILES = 'Fargate does not mount S3 file systems (S3 Files); use EFS';

export function findClassProblem(storageClass: unknown): string | undefined {
  const mode = modeOfEfs(storageClass);
  return mode?.startsWith('s3files') === true
    ? NO_S3_FILES
    : findDriverProblem(textAt(storageClass, 'provisioner') ?? '');
}

/** True if the EFS CSI driver creates the StorageClass's volumes. */
export const isCreatedByEfs = (storageClass: unknown): boolean => modeOfEfs(storageClass) !== undefined;

/** The EFS CSI driver's provisioning mode. `undefined` if it does not create the StorageClass's volumes. */
const modeOfEfs = (storageClass: unknown): string | undefined =>
  textAt(storageClass, 'provisioner') === EFS
    ? textAt(fieldAt(storageClass, 'parameters'), 'provisioningMode')
    : undefined;

export function findVolumeProblem(volume: unknown): string | undefined {
  const spec = fieldAt(volume, 'spec');
  const csi = fieldAt(spec, 'csi');
  const driver = textAt(csi, 'driver');
  const isS3Files = textAt(csi, 'volumeHandle')?.startsWith('s3files:') === true;
  if (driver !== undefined) return driver === EFS && isS3Files ? NO_S3_FILES : findDriverProblem(driver);
  const kind = VOLUME_KINDS.find((each) => isRecord(fieldAt(spec, each)));
  if (kind === undefined) return undefined;
  return kind === 'awsElasticBlockStore' ? NO_EBS : notMounted(kind);
}
