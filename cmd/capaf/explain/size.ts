import { fieldAt } from '../../../api/record.ts';

/** The size for which AWS bills a pod on Fargate. */
export interface Size {
  readonly vCPU: number;
  readonly memoryGB: number;
}

const range = (from: number, to: number, step = 1): readonly number[] =>
  Array.from({ length: (to - from) / step + 1 }, (_, index) => from + index * step);

/** By vCPU, the GB of memory. https://docs.aws.amazon.com/eks/latest/userguide/fargate-pod-configuration.html */
const SIZES: readonly (readonly [vCPU: number, memoryGB: readonly number[]])[] = [
  [0.25, [0.5, 1, 2]],
  [0.5, range(1, 4)],
  [1, range(2, 8)],
  [2, range(4, 16)],
  [4, range(8, 30)],
  [8, range(16, 60, 4)],
  [16, range(32, 120, 8)],
];

export const LARGEST_SIZE = '16 vCPU with 120 GB';

/**
 * In thousandths of a byte. AWS counts the memory of Fargate in MiB, and calls 512 MiB 0.5 GB:
 * https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html
 */
const GB = 1024 ** 3 * 1000;
/** 256 MiB, which Fargate adds for kubelet, kube-proxy and containerd; from the page of the sizes. */
const KUBERNETES_MEMORY = GB / 4;

/**
 * The smallest size that holds a pod: of CPU and memory each the larger of the sum over the containers that run together
 * and the largest init container. An init container with `restartPolicy: Always` is a sidecar, which runs together with
 * the containers. `undefined` if no size is large enough.
 */
export function billedSize(containers: readonly unknown[], initContainers: readonly unknown[]): Size | undefined {
  const isSidecar = (container: unknown): boolean => fieldAt(container, 'restartPolicy') === 'Always';
  const together = [...containers, ...initContainers.filter(isSidecar)];
  const alone = initContainers.filter((container) => !isSidecar(container));
  const largest = (resource: string): number =>
    Math.max(...[together, ...alone.map((one) => [one])].map((each) => totalRequest(each, resource)));
  const cpu = largest('cpu');
  const memory = largest('memory') + KUBERNETES_MEMORY;
  for (const [vCPU, steps] of SIZES) {
    const memoryGB = steps.find((step) => memory <= step * GB);
    if (cpu <= vCPU * 1000 && memoryGB !== undefined) return { vCPU, memoryGB };
  }
  return undefined;
}

/** In thousandths. As the API server does, takes the limit for a request that is absent. */
export const totalRequest = (containers: readonly unknown[], resource: string): number =>
  containers.reduce<number>((sum, container) => {
    const resources = fieldAt(container, 'resources');
    const of = (kind: string): unknown => fieldAt(fieldAt(resources, kind), resource);
    return sum + (parseQuantity(of('requests') ?? of('limits')) ?? 0);
  }, 0);

const QUANTITY = /^\+?(\d+(?:\.\d*)?|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,2})?$/;
/** The exponent of 1000 of a suffix is its index, less 3. */
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
/** Far below a thousandth, and above the errors of floating-point numbers such as 0.1. */
const ROUNDING = 1e-9;

/**
 * Parses a quantity of Kubernetes such as `250m`, `1.5Gi` or `1e3` into thousandths, rounded up; `undefined` if it is
 * none. (`quantityToScalar` of client-node throws an error for `1.5Gi`.)
 */
export function parseQuantity(value: unknown): number | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  const match = typeof text === 'string' ? QUANTITY.exec(text) : null;
  if (match === null) return undefined;
  const [, number, suffix = ''] = match;
  const isBinary = suffix.endsWith('i');
  const isExponent = !isBinary && suffix.length > 1;
  const decimal = isExponent ? 10 ** Number(suffix.slice(1)) : 1000 ** (DECIMAL.indexOf(suffix) - 3);
  const factor = isBinary ? 1024 ** ('KMGTPE'.indexOf(suffix.charAt(0)) + 1) : decimal;
  return Math.ceil(Number(number) * factor * 1000 - ROUNDING);
}
