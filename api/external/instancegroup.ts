import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { EksClusterName, RoleArn } from '../names.ts';
import { fieldAt, isRecord, textAt } from '../record.ts';
import type { UnknownRecord } from '../record.ts';
import {
  anything,
  list,
  listOr,
  map,
  nullable,
  object,
  optional,
  optionalText,
  refine,
  string,
  text,
  view,
} from '../schema/field.ts';
import type { Field } from '../schema/field.ts';
import { decode } from '../schema/problem.ts';
import { withEmptyFields } from './last-applied.ts';
import type { DecodeProblem } from '../schema/problem.ts';

// The kind InstanceGroup of keiko's instance-manager, as far as its provisioner eks-fargate needs it:
// https://github.com/keikoproj/instance-manager/blob/master/docs/examples/EKS-fargate.md

export const INSTANCE_GROUP_GROUP = 'instancemgr.keikoproj.io';
export const INSTANCE_GROUP_VERSION = 'v1alpha1';
export const INSTANCE_GROUP_KIND = 'InstanceGroup';
export const INSTANCE_GROUP_PLURAL = 'instancegroups';

/** The finalizer that keiko puts on InstanceGroups of every provisioner. */
export const KEIKO_FINALIZER = 'finalizer.instancegroups.keikoproj.io';

const PROVISIONER = 'eks-fargate';
/** The only value of spec.strategy.type that keiko allows for the provisioner `eks-fargate`. */
const STRATEGY = 'managed';

export interface FargateGroupSelector {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The part `spec.eks-fargate` of an InstanceGroup. */
export interface FargateGroup {
  readonly clusterName: EksClusterName;
  /** The ARN of the pod execution role; undefined: the controller creates a role. */
  readonly podExecutionRoleArn?: RoleArn;
  readonly subnets: readonly string[];
  readonly selectors: readonly FargateGroupSelector[];
  readonly tags: Readonly<Record<string, string>>;
}

/** Whether an InstanceGroup has the provisioner `eks-fargate`. As in keiko, the case of the letters does not matter. */
export const isFargateGroup = (group: UnknownRecord): boolean =>
  textAt(group['spec'], 'provisioner')?.toLowerCase() === PROVISIONER;

const Labels = map(string());

const SELECTOR_FORM = 'namespace, and labels if they matter, and no other field';

/**
 * Decodes a selector of an InstanceGroup. Its form is that of keiko's code, or the form in keiko's documentation: there
 * `- namespace1:` with an empty value means the namespace `namespace1`.
 */
function toSelector(input: UnknownRecord): Either<string, FargateGroupSelector> {
  const { labels: given, ...rest } = input;
  const labels = Labels.decode(given ?? {});
  if (E.isLeft(labels)) return E.left('labels that are a map of texts');
  const [[key, value] = ['', undefined], ...others] = Object.entries(rest);
  if (others.length > 0) return E.left(SELECTOR_FORM);
  if (key === 'namespace')
    return typeof value === 'string' && value !== ''
      ? E.right({ namespace: value, labels: labels.right })
      : E.left('namespace with the name of a namespace');
  return value === null ? E.right({ namespace: key, labels: labels.right }) : E.left(SELECTOR_FORM);
}

/** The field `tags` of an InstanceGroup: a map, or a list of maps. As in keiko, each entry of each map is a tag. */
const Tags: Field<Readonly<Record<string, string>>> = view(listOr(list(Labels), Labels), (tags) =>
  Object.fromEntries((isRecord(tags) ? [tags] : tags).flatMap((each) => Object.entries(each))),
);

const FargatePart: Field<FargateGroup> = view(
  object({
    clusterName: refine(text(EksClusterName), (name): Either<string, EksClusterName> =>
      name === '' ? E.left('the name of a cluster in EKS') : E.right(name),
    ),
    podExecutionRoleArn: optionalText(text(RoleArn)),
    subnets: optional(nullable(list(string()))),
    selectors: list(refine(anything(), toSelector)),
    tags: optional(nullable(Tags)),
  }),
  ({ clusterName, podExecutionRoleArn, subnets, selectors, tags }): FargateGroup => ({
    clusterName,
    ...(podExecutionRoleArn !== undefined && { podExecutionRoleArn }),
    subnets: subnets ?? [],
    selectors,
    tags: tags ?? {},
  }),
);

const ManagedStrategy = refine(string(), (type) =>
  type.toLowerCase() === STRATEGY ? E.right(type) : E.left(JSON.stringify(STRATEGY)),
);

const InstanceGroup = object({
  spec: object({ strategy: object({ type: ManagedStrategy }), [PROVISIONER]: FargatePart }),
});

/** Decodes an InstanceGroup whose provisioner is `eks-fargate`. */
export const decodeFargateGroup = (input: unknown): Either<readonly DecodeProblem[], FargateGroup> =>
  E.bimap(
    (problems: readonly DecodeProblem[]) => problems.map(withReadablePath),
    ({ spec }: { readonly spec: { readonly [PROVISIONER]: FargateGroup } }) => spec[PROVISIONER],
  )(decode(InstanceGroup, withNamedSelectors(input)));

/**
 * Restores selectors of the form `- namespace1:`. A client-side `kubectl apply` drops their only key, because the key
 * has no value.
 */
function withNamedSelectors(group: unknown): unknown {
  const spec = fieldAt(group, 'spec');
  const fargate = fieldAt(spec, PROVISIONER);
  const selectors = fieldAt(fargate, 'selectors');
  if (!isRecord(group) || !isRecord(spec) || !isRecord(fargate) || !Array.isArray(selectors)) return group;
  const named = withEmptyFields(group, ['spec', PROVISIONER, 'selectors'], selectors);
  return { ...group, spec: { ...spec, [PROVISIONER]: { ...fargate, selectors: named } } };
}

/** Writes the path of a wrong field as kubectl and the API server do: `spec.eks-fargate.tags`. */
const withReadablePath = (problem: DecodeProblem): DecodeProblem => ({
  ...problem,
  path: problem.path.replace(`["${PROVISIONER}"]`, `.${PROVISIONER}`),
});

/** `status.currentState` of an InstanceGroup; undefined: no controller has set it. */
export const currentStateOf = (group: UnknownRecord): string | undefined => textAt(group['status'], 'currentState');
