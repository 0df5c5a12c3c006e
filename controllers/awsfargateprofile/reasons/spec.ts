import { defineReason, EKS, IN_KUBERNETES } from './definition.ts';
import { continues, type Description } from './wording.ts';

export const SPEC_REASONS = {
  InvalidSpec: defineReason<Description>({
    ...IN_KUBERNETES,
    problem: ({ detail }) => detail,
    remedy: () => 'Fix this field',
    outlook: continues,
  }),
  TagsInvalid: defineReason<Description>({
    ...IN_KUBERNETES,
    problem: ({ detail }) => `AWS does not accept the tags for this object: ${detail}`,
    remedy: () => 'Fix these tags in spec.additionalTags of this object or of its control plane',
    outlook: continues,
  }),
  NoPrivateSubnets: defineReason<{ readonly controlPlane: string }>({
    ...IN_KUBERNETES,
    ...EKS,
    problem: ({ controlPlane }) =>
      `Fargate needs private subnets, but spec.subnetIDs of this object is empty, and spec.network.subnets of AWSManagedControlPlane ${controlPlane} has no private subnet`,
    remedy: () => 'Name private subnets in spec.subnetIDs, or add them to spec.network.subnets of the control plane',
    outlook: continues,
  }),
} as const;
