import { fieldAt, listAt } from 'controller-runtime/json';

export interface Size {
  readonly vCPU: number;
  readonly memoryGB: number;
}

const range = (from: number, to: number, step = 1): readonly number[] =>
  Array.from({ length: (to - from) / step + 1 }, (_, index) => from + index * step);

/**
 * The possible memory sizes in GB for each number of vCPUs.
 * https://docs.aws.amazon.com/eks/latest/userguide/fargate-pod-configuration.html
 */
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
/** 256 MiB, which Fargate adds for kubelet, kube-proxy, and containerd. Source: AWS's page about pod sizes. */
const KUBERNETES_MEMORY = GB / 4;

/**
 * Returns the smallest size that fits a pod. `undefined` if no size is large enough. For CPU and memory each, the pod
 * needs the larger of two values: the sum over the containers that run together, and the largest init container. An
 * init container with `restartPolicy: Always` is a sidecar, which runs together with the containers, and with the init
 * containers after it. Resources of the pod itself replace those of its containers.
 */
export function sizeOfSpec(spec: unknown): Size | undefined {
  const cpu = requestOf(spec, 'cpu');
  const memory = requestOf(spec, 'memory') + KUBERNETES_MEMORY;
  for (const [vCPU, steps] of SIZES) {
    const memoryGB = steps.find((step) => memory <= step * GB);
    if (cpu <= vCPU * 1000 && memoryGB !== undefined) return { vCPU, memoryGB };
  }
  return undefined;
}

/** Returns the size that the pod requests, without the memory that Fargate adds. */
export const requestedSize = (spec: unknown): Size => {
  return { vCPU: requestOf(spec, 'cpu') / 1000, memoryGB: requestOf(spec, 'memory') / GB };
};

/** Returns what the pod requests of the resource, in thousandths. */
function requestOf(spec: unknown, resource: string): number {
  const ofPod = fieldAt(spec, 'resources');
  const own = fieldAt(fieldAt(ofPod, 'requests'), resource);
  const inAll = requestOfAll(listAt(spec, 'containers'), listAt(spec, 'initContainers'), resource);
  // Uses the pod's limit if nothing is requested at all, as the API server does.
  const limit = inAll === 0 ? fieldAt(fieldAt(ofPod, 'limits'), resource) : undefined;
  return parseQuantity(own ?? limit) ?? inAll;
}

function requestOfAll(containers: readonly unknown[], initContainers: readonly unknown[], resource: string): number {
  let [sidecars, largest] = [0, 0];
  for (const container of initContainers) {
    const request = totalRequest([container], resource);
    if (fieldAt(container, 'restartPolicy') === 'Always') sidecars += request;
    else largest = Math.max(largest, sidecars + request);
  }
  return Math.max(largest, sidecars + totalRequest(containers, resource));
}

/** Parses the annotation CapacityProvisioned, which contains the size that Fargate bills. */
export function provisionedSize(annotation: string | undefined): Size | undefined {
  const [, vCPU, memoryGB] = /^(\d{1,3}(?:\.\d{1,3})?)vCPU (\d{1,3}(?:\.\d{1,3})?)GB$/.exec(annotation ?? '') ?? [];
  return vCPU === undefined ? undefined : { vCPU: Number(vCPU), memoryGB: Number(memoryGB) };
}

/** Returns the sum of the requests, in thousandths. The limit replaces an absent request, as in the API server. */
export const totalRequest = (containers: readonly unknown[], resource: string): number =>
  containers.reduce<number>((sum, container) => {
    const resources = fieldAt(container, 'resources');
    const of = (kind: string): unknown => fieldAt(fieldAt(resources, kind), resource);
    return sum + (parseQuantity(of('requests') ?? of('limits')) ?? 0);
  }, 0);

const QUANTITY = /^\+?((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?)([a-zA-Z]*)$/;
const DECIMAL = { n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
const BINARY = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 };
const FACTORS = new Map(Object.entries({ ...DECIMAL, ...BINARY }));
/** Far below a thousandth, but above the rounding errors of floating-point numbers such as 0.1. */
const ROUNDING = 1e-9;

/**
 * Parses a Kubernetes quantity such as `250m`, `1.5Gi`, or `1e3` into thousandths, rounded up. Returns `undefined` if
 * the value is not a quantity. (client-node's `quantityToScalar` throws an error for `1.5Gi`.)
 */
export function parseQuantity(value: unknown): number | undefined {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  const [, number, suffix = ''] = QUANTITY.exec(text) ?? [];
  const factor = FACTORS.get(suffix);
  return number === undefined || factor === undefined
    ? undefined
    : Math.ceil(Number(number) * factor * 1000 - ROUNDING);
}
