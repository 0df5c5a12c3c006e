import { getOrElse, tryCatch } from 'fp-ts/lib/Option.js';
import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName, RoleArn } from '../names.ts';
import * as s from 'controller-runtime/schema';
import { fieldAt, isRecord, textAt, type UnknownRecord } from 'controller-runtime/json';

// keiko's kind InstanceGroup, with only the fields that the provisioner eks-fargate uses:
// https://github.com/keikoproj/instance-manager/blob/master/docs/examples/EKS-fargate.md

export const INSTANCE_GROUP_GROUP = 'instancemgr.keikoproj.io';
export const INSTANCE_GROUP_VERSION = 'v1alpha1';
export const INSTANCE_GROUP_KIND = 'InstanceGroup';
export const INSTANCE_GROUP_PLURAL = 'instancegroups';

/** keiko adds this finalizer to InstanceGroups of every provisioner. */
export const KEIKO_FINALIZER = 'finalizer.instancegroups.keikoproj.io';

/** This controller reconciles only InstanceGroups with this provisioner. */
export const FARGATE_PROVISIONER = 'eks-fargate';

export interface FargateGroupSelector {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The InstanceGroup's field `spec.eks-fargate`. */
export interface FargateGroup {
  readonly clusterName: EksClusterName;
  /** If undefined, the controller creates a role for the Fargate profile. */
  readonly podExecutionRoleArn?: RoleArn;
  readonly subnets: readonly string[];
  readonly selectors: readonly FargateGroupSelector[];
  readonly tags: Readonly<Record<string, string>>;
}

/** Compares the provisioner without regard to case, as keiko does. */
export const isFargateGroup = (group: UnknownRecord): boolean =>
  textAt(group['spec'], 'provisioner')?.toLowerCase() === FARGATE_PROVISIONER;

/** Undefined if no controller has set it. */
export const currentStateOf = (group: UnknownRecord): string | undefined => textAt(group['status'], 'currentState');

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Restores fields with the value `null`, at any depth, in the items of a list in the spec. A client-side `kubectl
 * apply` drops such fields from the object, but keeps them in its annotation `last-applied-configuration`. An item that
 * differs from the annotation in any other field is returned unchanged, because another client has changed it.
 */
export function withEmptyFields(
  group: unknown,
  path: readonly string[],
  items: readonly unknown[],
): readonly unknown[] {
  const applied = textAt(fieldAt(fieldAt(group, 'metadata'), 'annotations'), LAST_APPLIED);
  // An annotation that is invalid JSON, or nested too deeply to be compared, is ignored.
  return applied?.includes('null') !== true
    ? items
    : getOrElse(() => items)(tryCatch(() => restore(items, valueAt(JSON.parse(applied), path))));
}

const valueAt = (value: unknown, path: readonly string[]): unknown => path.reduce(fieldAt, value);

function restore(items: readonly unknown[], applied: unknown): readonly unknown[] {
  if (!Array.isArray(applied) || applied.length !== items.length) return items;
  return items.map((item, index) => {
    const before: unknown = applied[index];
    return isRecord(item) && isRecord(before) && canonical(item) === canonical(before) ? before : item;
  });
}

/** Returns JSON with sorted fields and without `null` fields, so that two values can be compared. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isRecord(inner)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([, field]) => field !== null)
            .toSorted(([a], [b]) => (a < b ? -1 : 1)),
        )
      : inner,
  );

/** keiko allows only this value of spec.strategy.type for the provisioner `eks-fargate`. */
const STRATEGY = 'managed';

const Labels = s.map(s.string());

const SELECTOR_FORM = 'namespace, and labels if they matter, and no other field';

/**
 * A selector has two forms. keiko's code reads `- namespace: namespace1`. Its documentation uses `- namespace1:`, where
 * the name of the namespace is a key with an empty value.
 */
function toSelector(input: UnknownRecord): E.Either<string, FargateGroupSelector> {
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

/** A map or a list of maps. Each entry of each map is a tag, as in keiko. */
const Tags: s.Field<Readonly<Record<string, string>>> = s.view(s.listOr(s.list(Labels), Labels), (tags) =>
  Object.fromEntries((isRecord(tags) ? [tags] : tags).flatMap((each) => Object.entries(each))),
);

const CLUSTER_FORM = 'the name of a cluster in EKS';

const FargatePart: s.Field<FargateGroup> = s.view(
  s.object({
    clusterName: s.refine(s.text(EksClusterName, { wanted: CLUSTER_FORM }), (name): E.Either<string, EksClusterName> =>
      name === '' ? E.left(CLUSTER_FORM) : E.right(name),
    ),
    podExecutionRoleArn: s.optionalText(s.text(RoleArn)),
    subnets: s.optional(s.nullable(s.list(s.string()))),
    selectors: s.list(s.refine(s.anything(), toSelector), { wanted: 'a list of selectors, each with a namespace' }),
    tags: s.optional(s.nullable(Tags)),
  }),
  ({ clusterName, podExecutionRoleArn, subnets, selectors, tags }): FargateGroup => ({
    clusterName,
    ...(podExecutionRoleArn !== undefined && { podExecutionRoleArn }),
    subnets: subnets ?? [],
    selectors,
    tags: tags ?? {},
  }),
);

const ManagedStrategy = s.refine(s.string({ wanted: STRATEGY }), (type) =>
  type.toLowerCase() === STRATEGY ? E.right(type) : E.left(JSON.stringify(STRATEGY)),
);

export const FargateInstanceGroup = s.object({
  spec: s.object({ strategy: s.object({ type: ManagedStrategy }), [FARGATE_PROVISIONER]: FargatePart }),
});

export const decodeFargateGroup = (input: unknown) =>
  E.map(({ spec }: s.TypeOf<typeof FargateInstanceGroup>) => spec[FARGATE_PROVISIONER])(
    s.decode(FargateInstanceGroup, withNamedSelectors(input)),
  );

/**
 * Restores selectors of the form `- namespace1:` from kubectl's annotation, because a client-side `kubectl apply` drops
 * a key without a value. kubectl also drops labels without a value. This function restores them too, so that the
 * selector is refused: without these labels, it would match more pods.
 */
export function withNamedSelectors(group: unknown): unknown {
  const spec = fieldAt(group, 'spec');
  const fargate = fieldAt(spec, FARGATE_PROVISIONER);
  const selectors = fieldAt(fargate, 'selectors');
  if (!isRecord(group) || !isRecord(spec) || !isRecord(fargate) || !Array.isArray(selectors)) return group;
  const named = withEmptyFields(group, ['spec', FARGATE_PROVISIONER, 'selectors'], selectors);
  return { ...group, spec: { ...spec, [FARGATE_PROVISIONER]: { ...fargate, selectors: named } } };
}
