import { defineReason } from '../spec/reason-spec.ts';
import { pollRarely } from '../spec/poll-intervals.ts';
import { type Description, CONTINUES } from '../wording/phrases.ts';

const eks = { conditionType: 'EKSFargateProfileReady' } as const;

export const SPEC_REASONS = {
  InvalidSpec: defineReason<Description>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ detail }) => detail,
    remedy: () => `Correct this field. ${CONTINUES}`,
  }),
  TagsInvalid: defineReason<Description>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ detail }) => `AWS does not accept the tags for this object: ${detail}`,
    remedy: () =>
      `Correct the tags that this message names, in spec.additionalTags of this object or of its control plane. ${CONTINUES}`,
  }),
  NoPrivateSubnets: defineReason<{ readonly controlPlane: string }>({
    nature: 'human',
    ...eks,
    poll: pollRarely,
    describe: ({ controlPlane }) =>
      `Fargate needs private subnets, but spec.subnetIDs of this object is empty, and spec.network.subnets of AWSManagedControlPlane ${controlPlane} has no private subnet`,
    remedy: () =>
      `Name private subnets in spec.subnetIDs, or add them to spec.network.subnets of the control plane. ${CONTINUES}`,
  }),
} as const;
