import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { EksClusterName, RoleArn } from '../names.ts';
import { fieldAt, isRecord } from '../record.ts';
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
import { FARGATE_PROVISIONER } from './instancegroup.ts';
import type { FargateGroup, FargateGroupSelector } from './instancegroup.ts';
import { withEmptyFields } from './last-applied.ts';
import type { DecodeProblem } from '../schema/problem.ts';

/** The only value of spec.strategy.type that keiko's instance-manager allows for the provisioner `eks-fargate`. */
const STRATEGY = 'managed';

const Labels = map(string());

const SELECTOR_FORM = 'namespace, and labels if they matter, and no other field';

/**
 * Decodes a selector of an InstanceGroup, which can have two forms. The code of keiko's instance-manager reads the form
 * `- namespace: namespace1`. Its documentation uses the form `- namespace1:`, where the name of the namespace is a key
 * with an empty value.
 */
function toSelector(input: UnknownRecord): Either<string, FargateGroupSelector> {
  const { labels: given, ...rest } = input;
  const labels = Labels.decode(given ?? {});
  if (E.isLeft(labels)) return E.left('labels that are a map of texts, each with a value');
  const [[key, value] = ['', undefined], ...others] = Object.entries(rest);
  if (others.length > 0) return E.left(SELECTOR_FORM);
  if (key === 'namespace')
    return typeof value === 'string' && value !== ''
      ? E.right({ namespace: value, labels: labels.right })
      : E.left('namespace with the name of a namespace');
  return value === null ? E.right({ namespace: key, labels: labels.right }) : E.left(SELECTOR_FORM);
}

/**
 * The field `tags` of an InstanceGroup: a map, or a list of maps. Each entry of each map is a tag, as in keiko's
 * instance-manager.
 */
const Tags: Field<Readonly<Record<string, string>>> = view(listOr(list(Labels), Labels), (tags) =>
  Object.fromEntries((isRecord(tags) ? [tags] : tags).flatMap((each) => Object.entries(each))),
);

const CLUSTER_FORM = 'the name of a cluster in EKS';

const FargatePart: Field<FargateGroup> = view(
  object({
    clusterName: refine(text(EksClusterName, { wanted: CLUSTER_FORM }), (name): Either<string, EksClusterName> =>
      name === '' ? E.left(CLUSTER_FORM) : E.right(name),
    ),
    podExecutionRoleArn: optionalText(text(RoleArn)),
    subnets: optional(nullable(list(string()))),
    selectors: list(refine(anything(), toSelector), { wanted: 'a list of selectors, each with a namespace' }),
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

const ManagedStrategy = refine(string({ wanted: STRATEGY }), (type) =>
  type.toLowerCase() === STRATEGY ? E.right(type) : E.left(JSON.stringify(STRATEGY)),
);

const InstanceGroup = object({
  spec: object({ strategy: object({ type: ManagedStrategy }), [FARGATE_PROVISIONER]: FargatePart }),
});

/** Decodes an InstanceGroup whose provisioner is `eks-fargate`. */
export const decodeFargateGroup = (input: unknown): Either<readonly DecodeProblem[], FargateGroup> =>
  E.map(({ spec }: { readonly spec: { readonly [FARGATE_PROVISIONER]: FargateGroup } }) => spec[FARGATE_PROVISIONER])(
    decode(InstanceGroup, withNamedSelectors(input)),
  );

/**
 * Restores selectors of the form `- namespace1:` in an InstanceGroup from kubectl's annotation
 * `last-applied-configuration`. The key `namespace1` has no value, so a client-side `kubectl apply` drops the key. It
 * also drops labels without a value, with which the selector is refused: without them it would match more pods.
 */
function withNamedSelectors(group: unknown): unknown {
  const spec = fieldAt(group, 'spec');
  const fargate = fieldAt(spec, FARGATE_PROVISIONER);
  const selectors = fieldAt(fargate, 'selectors');
  if (!isRecord(group) || !isRecord(spec) || !isRecord(fargate) || !Array.isArray(selectors)) return group;
  const named = withEmptyFields(group, ['spec', FARGATE_PROVISIONER, 'selectors'], selectors);
  return { ...group, spec: { ...spec, [FARGATE_PROVISIONER]: { ...fargate, selectors: named } } };
}
