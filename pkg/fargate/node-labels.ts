import { fieldAt, isRecord, listAt, textAt } from 'controller-runtime/json';
import { toText } from 'controller-runtime/text';

/**
 * An expression of a required node affinity. A `nodeSelector` is a list of such expressions with `In` and one value.
 */
interface LabelRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

const HOSTNAME = 'kubernetes.io/hostname';

/**
 * All labels of a Fargate node. Users cannot add labels (aws/containers-roadmap#1476, #1976), and there is no label for
 * the instance type. An `undefined` value differs from node to node.
 */
const NODE_LABELS: ReadonlyMap<string, string | undefined> = new Map([
  ['beta.kubernetes.io/arch', 'amd64'],
  ['beta.kubernetes.io/os', 'linux'],
  ['eks.amazonaws.com/compute-type', 'fargate'],
  ['failure-domain.beta.kubernetes.io/region', undefined],
  ['failure-domain.beta.kubernetes.io/zone', undefined],
  ['kubernetes.io/arch', 'amd64'],
  [HOSTNAME, undefined],
  ['kubernetes.io/os', 'linux'],
  ['topology.kubernetes.io/region', undefined],
  ['topology.kubernetes.io/zone', undefined],
]);

/** Returns `undefined` if a Fargate node in the region can meet the requirement. */
export function findNodeProblem({ key, operator, values }: LabelRequirement, region: string): string | undefined {
  const isThere = NODE_LABELS.has(key);
  if (operator === 'Exists') return isThere ? undefined : `nodes of Fargate have no label ${key}`;
  if (operator === 'DoesNotExist') return isThere ? `nodes of Fargate have the label ${key}` : undefined;
  if (operator === 'NotIn') {
    const value = NODE_LABELS.get(key) ?? (key.endsWith('/region') ? region : undefined);
    return value !== undefined && values.includes(value) ? `nodes of Fargate have ${key}=${value}` : undefined;
  }
  if (!isThere) return `nodes of Fargate have no label ${key}`;
  if (operator !== 'In') return `the label ${key} of nodes of Fargate is no number`;
  return findValueProblem(key, values, region);
}

function findValueProblem(key: string, values: readonly string[], region: string): string | undefined {
  if (key === HOSTNAME) return 'each pod gets a new node of Fargate, whose name nobody knows before';
  const known = NODE_LABELS.get(key);
  if (known !== undefined) return values.includes(known) ? undefined : `nodes of Fargate have ${key}=${known}`;
  // Fargate does not run in Local Zones, whose names are longer than that of a zone such as eu-west-1a.
  const isZone = (value: string): boolean => value.startsWith(region) && value.length === region.length + 1;
  const isHere = key.endsWith('/region') ? values.includes(region) : values.some(isZone);
  return isHere ? undefined : `nodes of Fargate are in region ${region}`;
}

/** EKS chooses the profile by the pod's namespace and labels, whatever nodes the pod requires. */
const STAYS = 'the pod stays Pending, because this field does not keep it off Fargate';

/** Yields the fields of a pod's spec that no Fargate node in the region meets. */
export function* findNodeProblems(
  spec: unknown,
  region: string,
): Generator<{ readonly path: string; readonly message: string }> {
  const selector = fieldAt(spec, 'nodeSelector');
  for (const [key, value] of Object.entries(isRecord(selector) ? selector : {})) {
    const problem = findNodeProblem({ key, operator: 'In', values: [toText(value)] }, region);
    if (problem !== undefined) yield { path: `.nodeSelector["${key}"]`, message: `${problem}; ${STAYS}` };
  }
  const rule = ['affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution'];
  const problems = listAt(rule.reduce<unknown>(fieldAt, spec), 'nodeSelectorTerms').map((term) =>
    findTermProblem(term, region),
  );
  // A node needs to match only one of the terms.
  if (problems.length > 0 && problems.every((problem) => problem !== undefined))
    yield { path: `.${rule.join('.')}`, message: `${[...new Set(problems)].join(', ')}; ${STAYS}` };
}

function findTermProblem(term: unknown, region: string): string | undefined {
  // A term can match only one node field, the name. The hostname label has the same value.
  const fields = listAt(term, 'matchFields').map((each) => ({ ...toRequirement(each), key: HOSTNAME }));
  const requirements = [...listAt(term, 'matchExpressions').map(toRequirement), ...fields];
  if (requirements.length === 0) return 'a term without expressions matches no node';
  return requirements.map((each) => findNodeProblem(each, region)).find((problem) => problem !== undefined);
}

const toRequirement = (expression: unknown): LabelRequirement => ({
  key: textAt(expression, 'key') ?? '',
  operator: textAt(expression, 'operator') ?? '',
  values: listAt(expression, 'values').map(toText),
});
