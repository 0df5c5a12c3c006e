import type { LimitExcess } from '../../../pkg/fargate/operator-limits.ts';
import { type AffectedConditionType, defineReason } from './spec/reason-spec.ts';
import { pollRarely } from './spec/poll-intervals.ts';
import { CONTINUES, quoted, enumerated, listed } from './wording/phrases.ts';

function describeAllowed(excess: readonly LimitExcess[]): string {
  const sentences = excess.map(({ field, allowed }) => {
    const name = field.replace(/\[\d+\]$/, '');
    const patterns = allowed.filter((pattern) => pattern !== 'none');
    return patterns.length === 0
      ? `Remove the value from ${name}`
      : `Use only values in ${name} that match ${enumerated(patterns)}`;
  });
  return [...new Set(sentences)].join('. ');
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
const flagValueFor = (value: string): string =>
  `<namespace of this object>=${value.split('/').length === 2 ? '<AWS account of the EKS cluster>/' : ''}${value}`;

/** The API server refuses a change of spec.eksCluster. */
function describeAllowedClusters(excess: readonly LimitExcess[]): string {
  const patterns = [...new Set(excess.flatMap(({ allowed }) => allowed))];
  const values = excess.filter(({ field }) => field === EKS_CLUSTER_FIELD).map(({ value }) => flagValueFor(value));
  const ask = `Ask the operator to add ${listed(values)} to the values of the manager's flag --allow-eks-cluster. If clusterctl installed the manager, the operator adds it to the clusterctl variable CAPAF_ALLOW_EKS_CLUSTERS, after a comma, and runs clusterctl upgrade apply --infrastructure aws-fargate:<installed version>. ${CONTINUES}`;
  return patterns.length === 0
    ? ask
    : `${ask}. Or create another AWSFargateProfile, for an EKS cluster that matches ${enumerated(patterns)}`;
}

export const OPERATOR_LIMIT_REASONS = {
  NotAllowedByOperator: defineReason<{
    readonly excess: readonly LimitExcess[];
    readonly about: AffectedConditionType;
  }>({
    nature: 'human',
    keepsReady: true,
    poll: pollRarely,
    describe: ({ excess }) =>
      `the operator of this controller does not allow ${excess.map(({ field, value }) => `${quoted(value)} in ${field}`).join(' and ')}`,
    remedy: ({ excess }) =>
      excess.some(({ field }) => field === EKS_CLUSTER_FIELD)
        ? describeAllowedClusters(excess)
        : `${describeAllowed(excess)}. Or ask the operator to allow ${excess.length === 1 ? 'this value' : 'these values'} with ${flagsFor(excess)} of the manager. ${CONTINUES}`,
  }),
} as const;
