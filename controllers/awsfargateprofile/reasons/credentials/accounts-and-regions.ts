import { EKS_CLUSTER_TAG } from '../../../../pkg/fargate/tags/tag-keys.ts';
import { defineReason } from '../spec/reason-spec.ts';
import { MINUTE, SECOND, pollRarely, pollDoubling } from '../spec/poll-intervals.ts';
import { type Abandonable, remedyFor } from '../wording/abandonment.ts';
import { RETRIES, CONTINUES, quoted, type OfTarget, identityField } from '../wording/phrases.ts';

const credentials = { conditionType: 'CredentialsReady' } as const;

export const ACCOUNT_REASONS = {
  RegionInvalid: defineReason<Abandonable & OfTarget & { readonly region: string }>({
    nature: 'human',
    ...credentials,
    poll: pollRarely,
    describe: ({ region }) =>
      `the EKS cluster cannot be in region ${quoted(region)}, because this is not the name of an AWS region`,
    remedy: ({ abandonment, isOfObject = false }) =>
      remedyFor(
        isOfObject
          ? 'Create another AWSFargateProfile with the name of an AWS region, such as "eu-west-1", in spec.eksCluster.region'
          : 'Set spec.region of the control plane to the name of an AWS region, such as "eu-west-1". If the API server does not allow this change, create the Cluster and its control plane again',
        CONTINUES,
        abandonment,
      ),
  }),
  /** AWS accepts the credentials in `acceptedIn`. */
  RegionNotEnabled: defineReason<
    Abandonable &
      OfTarget & {
        readonly detail: string;
        readonly region: string;
        readonly acceptedIn: string;
        readonly account?: string;
      }
  >({
    nature: 'human',
    ...credentials,
    // The first retries come soon, because AWS may have rejected credentials that a user was just replacing.
    poll: pollDoubling(2 * SECOND, 5 * MINUTE),
    describe: ({ region, acceptedIn, account, detail }) =>
      `AWS rejects the credentials in region ${quoted(region)} and accepts them in region ${quoted(acceptedIn)}. Usually region ${quoted(region)} is then not enabled for ${account === undefined ? 'the account of these credentials' : `account ${account}`}. AWS says: ${detail}`,
    remedy: ({ region, abandonment, ...target }) =>
      remedyFor(
        `Enable region ${quoted(region)} in the AWS account. Or, if the EKS cluster is in another account, name an identity of that account in ${identityField(target)}`,
        RETRIES,
        abandonment,
        'the region stays disabled',
      ),
  }),
  WrongAccount: defineReason<
    Abandonable & OfTarget & { readonly whose: string; readonly recorded: string; readonly found: string }
  >({
    nature: 'human',
    ...credentials,
    poll: pollDoubling(30 * SECOND, 5 * MINUTE),
    describe: ({ whose, recorded, found }) =>
      `the credentials of ${whose} belong to account ${found}, but this object records account ${recorded} for its Fargate profile. The controller reads and changes nothing in account ${found}`,
    remedy: ({ whose, recorded, abandonment, ...target }) =>
      remedyFor(
        `Name an identity of account ${recorded} in ${identityField(target)}, or change the credentials of ${whose}`,
        RETRIES,
        abandonment,
      ),
  }),
  AccountUncertain: defineReason<
    OfTarget & {
      readonly cluster: string;
      readonly region: string;
      readonly account: string;
      readonly profile: string;
      readonly role: string | undefined;
    }
  >({
    nature: 'human',
    ...credentials,
    poll: pollDoubling(30 * SECOND, 5 * MINUTE),
    describe: ({ cluster, region, account, profile }) =>
      `the deletion of this object waits, because account ${account} has no EKS cluster "${cluster}" in region ${region}, and this object does not record in which account its Fargate profile ${quoted(profile)} is`,
    remedy: ({ cluster, role, ...target }) =>
      [
        `If the EKS cluster is in another account, name an identity of that account in ${identityField(target)}. ${RETRIES}. If the EKS cluster no longer exists, set spec.deletionPolicy to Retain: then the deletion ends without a change in AWS`,
        ...(role === undefined
          ? []
          : [
              `A role that the controller created for this object stays: ${quoted(role)}, whose tag ${EKS_CLUSTER_TAG} ends with "/${cluster}". Delete it if no other Fargate profile uses it`,
            ]),
      ].join('. '),
  }),
} as const;
