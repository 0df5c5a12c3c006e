import { type AdoptionPolicy, TAKE_OVER_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { type AffectedConditionType, defineReason, EKS, IAM, IN_AWS, IN_KUBERNETES, type Named } from './definition.ts';
import {
  type Abandonment,
  describeAbandonment,
  type SpecChangeable,
  continues,
  quoted,
  capitalized,
  listed,
  REPLACE_OBJECT,
  enumerated,
} from './wording.ts';
import type { LimitExcess } from '../../../pkg/fargate/operator-limits.ts';

function describeAllowed(excess: readonly LimitExcess[]): string {
  const clauses = excess.map(({ field, allowed }) => {
    const name = field.replace(/\[\d+\]$/, '');
    const patterns = allowed.filter((pattern) => pattern !== 'none');
    return patterns.length === 0
      ? `remove the value from ${name}`
      : `use only values in ${name} that match ${enumerated(patterns)}`;
  });
  return capitalized([...new Set(clauses)].join(' and '));
}

const EKS_CLUSTER_FIELD = 'spec.eksCluster';

function flagsFor(excess: readonly LimitExcess[]): string {
  const flags = excess.map(({ field }) => flagFor(field));
  return [...new Set(flags)].join(' and ');
}

function flagFor(field: string): string {
  if (field.startsWith('spec.roleAdditionalPolicies')) return '--allow-policy-arn';
  return field === 'spec.rolePermissionsBoundary' ? '--require-permissions-boundary' : '--allow-role-arn';
}

/** `value` is account/region/name of the EKS cluster, or region/name while its account is unknown. */
const flagValueFor = (namespace: string, value: string): string =>
  `${namespace}=${value.split('/').length === 2 ? '<AWS account of the EKS cluster>/' : ''}${value}`;

/** The API server rejects a change to spec.eksCluster, so the alternative to new limits is a new object. */
function describeAllowedClusters(excess: readonly LimitExcess[]): string {
  const patterns = [...new Set(excess.flatMap(({ allowed }) => allowed))];
  const values = excess.flatMap(({ value, namespace }) =>
    namespace === undefined ? [] : [flagValueFor(namespace, value)],
  );
  const ask = `Ask the manager's administrator to add ${listed(values)} to the values of the manager's flag --allow-eks-cluster, which clusterctl takes from the variable CAPAF_ALLOW_EKS_CLUSTERS`;
  return patterns.length === 0
    ? ask
    : `${ask}, or create another AWSFargateProfile, for an EKS cluster that matches ${enumerated(patterns)}`;
}

export const OWNERSHIP_REASONS = {
  /**
   * `adoption` is the adoptionPolicy with which the controller could adopt the profile. `obstacles` says why the
   * controller does not adopt the profile even with `Always`.
   */
  ProfileNotOwned: defineReason<
    Named &
      SpecChangeable & {
        readonly whose: string;
        readonly adoption?: AdoptionPolicy;
        readonly obstacles?: readonly string[];
      }
  >({
    ...IN_AWS,
    ...EKS,
    endedBySibling: 'gone',
    problem: ({ name, whose, obstacles }) =>
      `Fargate profile ${quoted(name)} belongs to ${whose}, so this controller does not change or delete it` +
      (obstacles === undefined
        ? ''
        : `, and does not adopt it because it differs from the spec: ${obstacles.join('; ')}`),
    remedy: ({ adoption, obstacles, isSpecFixed = false }) => {
      const evade = isSpecFixed ? REPLACE_OBJECT : 'Set spec.profileName to another name';
      if (obstacles !== undefined)
        return isSpecFixed
          ? evade
          : `${evade}, or, to adopt the profile, change or set these fields of the spec to match it`;
      return adoption === undefined
        ? evade
        : `${evade}, or, to adopt the profile, set spec.adoptionPolicy to ${adoption}`;
    },
    outlook: ({ adoption, obstacles }) =>
      adoption === undefined && obstacles === undefined
        ? 'When the existing profile is deleted, this controller creates its own profile with this name'
        : undefined,
  }),
  /** `usableArn` is set if the trust policy lets Fargate use the role for profiles in the EKS cluster. */
  RoleNotOwned: defineReason<Named & SpecChangeable & { readonly whose: string; readonly usableArn?: string }>({
    ...IN_AWS,
    ...IAM,
    problem: ({ name, whose }) =>
      `IAM role ${quoted(name)} belongs to ${whose}, so this controller does not change or delete it`,
    remedy: ({ usableArn, isSpecFixed = false }) => {
      const use =
        usableArn === undefined ? '' : `To run the pods with this role as it is, set spec.roleARN to ${usableArn}. `;
      const evade = `${use}To let the controller create a role with another name, set spec.roleName`;
      return isSpecFixed ? REPLACE_OBJECT : evade;
    },
    outlook: () => 'If the existing role is deleted, the controller creates its own role with this name',
  }),
  /**
   * Another copy of this object has created the profile, or another client has added the owner tag. `id` is the unique
   * ID at the end of the profile's ARN.
   */
  ManagedElsewhere: defineReason<
    Named & {
      readonly id: string;
      readonly isDeleting: boolean;
      readonly abandonment?: Abandonment | undefined;
    }
  >({
    ...IN_AWS,
    ...EKS,
    keepsReady: true,
    problem: ({ name, id }) =>
      `Fargate profile ${quoted(name)} (ID ${id}) has the owner tag of this object, but this object's record annotation does not list it: another management cluster created the profile, another client added the tag, or this object was restored from a backup`,
    remedy: ({ id, isDeleting, abandonment }) => {
      const takeOver = `To manage the profile here, annotate this object with ${TAKE_OVER_ANNOTATION}=${id}`;
      if (abandonment === 'removeFinalizer')
        return `${takeOver}. ${describeAbandonment(abandonment, 'If another management cluster manages it')}`;
      return isDeleting
        ? `${takeOver}. If another management cluster manages it, set spec.deletionPolicy to Retain`
        : `${takeOver}. If another management cluster manages it, set spec.deletionPolicy to Retain and delete this object, which changes nothing in AWS`;
    },
    outlook: () => 'Until then the controller creates and deletes nothing in AWS for this object',
  }),
  OwnershipTagMissing: defineReason<{
    readonly resource: 'Fargate profile' | 'IAM role';
    readonly name: string;
    readonly tags: readonly { readonly key: string; readonly value: string }[];
    readonly abandonment?: Abandonment | undefined;
    readonly about: AffectedConditionType;
  }>({
    ...IN_AWS,
    keepsReady: true,
    problem: ({ resource, name, tags, abandonment }) =>
      `${abandonment === undefined ? '' : 'the deletion of this object waits: '}${resource} ${quoted(name)} lacks the ${tags.length === 1 ? 'tag' : 'tags'} ${listed(tags.map(({ key }) => key))}, so the controller does not change or delete it`,
    remedy: ({ resource, tags, abandonment }) =>
      `If the ${resource} belongs to this object, tag it with ${listed(tags.map(({ key, value }) => `${key}=${value}`))}` +
      (abandonment === undefined
        ? ''
        : `, or delete it in AWS. ${describeAbandonment(abandonment, 'If it belongs to another owner', resource === 'IAM role')}`),
    outlook: ({ tags }) =>
      `Without the ${tags.length === 1 ? 'tag' : 'tags'}, the controller changes nothing in AWS for this object`,
  }),
  NotAllowedByOperator: defineReason<{
    readonly excess: readonly LimitExcess[];
    readonly about: AffectedConditionType;
  }>({
    ...IN_KUBERNETES,
    keepsReady: true,
    problem: ({ excess }) =>
      `the manager's administrator does not allow ${excess.map(({ field, value }) => `${quoted(value)} in ${field}`).join(' and ')}`,
    remedy: ({ excess }) =>
      excess.some(({ field }) => field === EKS_CLUSTER_FIELD)
        ? describeAllowedClusters(excess)
        : `${describeAllowed(excess)}, or ask the manager's administrator to allow ${excess.length === 1 ? 'this value' : 'these values'} with ${flagsFor(excess)}`,
    outlook: continues,
  }),
} as const;
