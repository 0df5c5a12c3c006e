import { isRecord, textAt } from '../../../api/record.ts';
import { HOSTNAME, type LabelRequirement, findNodeProblem } from '../../../pkg/fargate/node-labels.ts';
import { type FieldProblem, findFieldProblems } from '../../../pkg/fargate/pod-limits.ts';
import { LARGEST_SIZE, type Size, billedSize, totalRequest } from '../../../pkg/fargate/pod-size.ts';
import { listAt, valueAt } from '../documents.ts';
import type { Pod } from './pod.ts';

/** Something in a pod that Fargate does not run. `field` is a path in the manifest. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

export const sizeOf = ({ spec }: Pod): Size | undefined =>
  billedSize(listAt(spec, 'containers'), listAt(spec, 'initContainers'), spec['resources']);

/** 175 GiB in thousandths of a byte; from the page of the sizes. */
const MAX_STORAGE = 175 * 1024 ** 3 * 1000;

/** Volumes that the pod claims are not among them. */
export interface Limits {
  readonly violations: readonly Violation[];
  /** Why Fargate may refuse the pod. */
  readonly risks: readonly string[];
  /** What does not keep the pod from starting, but may not work as its author expects. */
  readonly advice: readonly string[];
}

export function findLimits(pod: Pod, region: string): Limits {
  const problems = findFieldProblems(pod.spec);
  const of = (wanted: FieldProblem['severity']): readonly Violation[] =>
    problems
      .filter(({ severity }) => severity === wanted)
      .map(({ path, message }) => ({ field: `${pod.path}${path}`, message }));
  const textsOf = (wanted: FieldProblem['severity']): readonly string[] =>
    of(wanted).map(({ field, message }) => `${field}: ${message}`);
  return {
    violations: [
      ...findKindViolations(pod),
      ...of('refused'),
      ...findNodeViolations(pod, region),
      ...findTooLarge(pod),
    ],
    risks: textsOf('risky'),
    advice: textsOf('ignored'),
  };
}

function* findKindViolations({ kind, owner }: Pod): Generator<Violation> {
  if (owner !== 'DaemonSet') return;
  const field = kind === 'Pod' ? 'metadata.ownerReferences' : 'kind';
  yield { field, message: 'pods of a DaemonSet do not run on Fargate; use a sidecar container' };
}

function* findTooLarge(pod: Pod): Generator<Violation> {
  const field = `${pod.path}.containers`;
  if (sizeOf(pod) === undefined)
    yield { field, message: `with 256 MiB for Kubernetes they exceed the largest size of Fargate, ${LARGEST_SIZE}` };
  if (totalRequest(listAt(pod.spec, 'containers'), 'ephemeral-storage') > MAX_STORAGE)
    yield { field, message: 'they request more ephemeral storage than the 175 GiB of Fargate' };
}

/** EKS chooses the profile by namespace and labels of the pod, whatever nodes the pod asks for. */
const STAYS = 'the pod stays Pending, because this field does not keep it off Fargate';

function* findNodeViolations({ spec, path }: Pod, region: string): Generator<Violation> {
  const selector = spec['nodeSelector'];
  for (const [key, value] of Object.entries(isRecord(selector) ? selector : {})) {
    const problem = findNodeProblem({ key, operator: 'In', values: [String(value)] }, region);
    if (problem !== undefined) yield { field: `${path}.nodeSelector["${key}"]`, message: `${problem}; ${STAYS}` };
  }
  const rule = ['affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution'];
  const problems = listAt(valueAt(spec, rule), 'nodeSelectorTerms').map((term) => findTermProblem(term, region));
  // A node needs to match one of the terms only.
  if (problems.length > 0 && problems.every((problem) => problem !== undefined))
    yield { field: [path, ...rule].join('.'), message: `${[...new Set(problems)].join(', ')}; ${STAYS}` };
}

function findTermProblem(term: unknown, region: string): string | undefined {
  // The only field of a node that a term can name is its name, which is also the value of this label.
  const fields = listAt(term, 'matchFields').map((each) => ({ ...toRequirement(each), key: HOSTNAME }));
  const requirements = [...listAt(term, 'matchExpressions').map(toRequirement), ...fields];
  if (requirements.length === 0) return 'a term without expressions matches no node';
  return requirements.map((each) => findNodeProblem(each, region)).find((problem) => problem !== undefined);
}

const toRequirement = (expression: unknown): LabelRequirement => ({
  key: textAt(expression, 'key') ?? '',
  operator: textAt(expression, 'operator') ?? '',
  values: listAt(expression, 'values').map(String),
});
