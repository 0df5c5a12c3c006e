import { GROUP, PLURAL } from '../../../../api/v1beta2/index.ts';
import { FOREIGN_SCHEMA_REMEDY } from '../../../shared/crd/served-schema.ts';
import { defineReason } from '../spec/reason-spec.ts';
import { SECOND, pollEvery } from '../spec/poll-intervals.ts';
import { CONTINUES, enumerated } from '../wording/phrases.ts';

export const FOREIGN_CRD_REASONS = {
  /** `keeper` is set with --manage-crd. */
  ForeignSchema: defineReason<{
    readonly provider?: string | undefined;
    readonly missing: readonly string[];
    readonly keeper?:
      { readonly kind: 'restoring' } | { readonly kind: 'stopped'; readonly problem: string; readonly remedy: string };
  }>({
    nature: 'human',
    poll: pollEvery(15 * SECOND),
    describe: ({ provider, missing, keeper }) =>
      `the CRD ${PLURAL}.${GROUP} ${provider === undefined ? '' : `comes from provider ${provider} and `}lacks ${enumerated(missing)}. The controller cannot read this object completely, so the controller changes nothing in AWS${keeper?.kind === 'stopped' ? `. ${keeper.problem}` : ''}`,
    remedy: ({ keeper }) => {
      switch (keeper?.kind) {
        case undefined:
          return `${FOREIGN_SCHEMA_REMEDY}. ${CONTINUES}`;
        case 'restoring':
          return `The manager applies its CRD again on its own (--manage-crd), when it has seen that Cluster API Provider AWS does not serve AWSFargateProfiles. ${CONTINUES}`;
        case 'stopped':
          return `${keeper.remedy}. ${CONTINUES}`;
      }
    },
  }),
  CAPAServesProfiles: defineReason<{ readonly webhook: string }>({
    nature: 'human',
    keepsReady: true,
    poll: pollEvery(15 * SECOND),
    describe: ({ webhook }) =>
      `Cluster API Provider AWS answers the webhook ${webhook}, so its feature gate EKSFargate is on, and its controller reconciles this object. This controller changes nothing in AWS, and leaves the CRD and the webhooks of Cluster API Provider AWS as they are`,
    remedy: () =>
      `Turn off the feature gate EKSFargate of Cluster API Provider AWS (EXP_EKS_FARGATE=false): then this controller takes the object over on its own. To stay with Cluster API Provider AWS instead, remove cluster-api-provider-aws-fargate`,
  }),
} as const;
