import type { OfTarget } from './target-fields.ts';
import { identityField } from './target-fields.ts';
import type { Abandonable } from './abandonment.ts';
import { remedyFor } from './abandonment.ts';
import type { ReasonSpec, Description } from './entry.ts';
import {
  CONTINUES,
  MINUTE,
  MISSING_PATIENCE,
  RETRIES,
  SECOND,
  defineReason,
  pollDoubling,
  pollEvery,
  pollRarely,
  quoted,
} from './entry.ts';

const credentials = { part: 'CredentialsReady' } as const;

/**
 * Returns the definition of a condition reason for unusable credentials. The next reconcile follows after a second,
 * because AWS may have rejected an expired session that is renewed by then.
 */
const noCredentials = (
  action: string | ((target: OfTarget) => string),
  outlook = RETRIES,
): ReasonSpec<Description & Abandonable & OfTarget> => ({
  nature: 'human',
  ...credentials,
  poll: pollDoubling(SECOND, 2 * MINUTE),
  describe: ({ detail }) => detail,
  remedy: ({ abandonment, ...target }) =>
    remedyFor(typeof action === 'string' ? action : action(target), outlook, abandonment),
});

/**
 * Like {@link noCredentials}, for missing credentials, identities, Secrets and permissions. `Stalled` becomes True only
 * after a delay, because a user may be about to create them.
 */
const missing = (...args: Parameters<typeof noCredentials>): ReturnType<typeof noCredentials> => ({
  ...noCredentials(...args),
  patience: MISSING_PATIENCE,
});

/** Condition reasons about credentials. Each of them makes the condition `CredentialsReady` False. */
export const CREDENTIAL_REASONS = {
  CredentialsMissing: missing(
    (target) => `Give the pod of the manager AWS credentials, or name an identity in ${identityField(target)}`,
  ),
  CredentialsInvalid: missing(
    'Renew these credentials at their source',
    'The controller then reads them again on its own',
  ),
  IdentityUnreadable: defineReason<Description>({
    nature: 'outage',
    ...credentials,
    poll: pollEvery(30 * SECOND),
    describe: ({ detail }) => detail,
    remedy: () =>
      `If this lasts for more than five minutes, install the CRD of this kind, or give the ServiceAccount of the manager the permission to read it. ${RETRIES}`,
  }),
  IdentityNotFound: missing('Create the identity, or correct the reference to it', CONTINUES),
  IdentityNotAllowed: missing(
    'Allow the namespace in spec.allowedNamespaces of the identity, or use another identity',
    CONTINUES,
  ),
  IdentityLoop: noCredentials('Change spec.sourceIdentityRef of one of these identities', CONTINUES),
  IdentityInvalid: noCredentials(
    'Correct the identity, or name another identity in the field that refers to it',
    CONTINUES,
  ),
  SecretNotFound: missing(
    'Create the Secret with the keys AccessKeyID and SecretAccessKey, or correct spec.secretRef of the identity',
    CONTINUES,
  ),
  SecretIncomplete: missing(
    'Add the missing keys to the Secret; temporary credentials also need the key SessionToken',
    CONTINUES,
  ),
  AssumeRoleDenied: missing(
    'Allow these credentials to call sts:AssumeRole in their own IAM policy and in the trust policy of the role. If the trust policy requires an external ID, set spec.externalID of the AWSClusterRoleIdentity',
  ),
  AssumeRoleRefused: noCredentials(
    'Correct spec of the AWSClusterRoleIdentity with this roleARN (for example spec.durationSeconds), or the IAM role',
  ),
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
          : 'Set spec.region of the control plane to the name of an AWS region, such as "eu-west-1". If its provider does not allow this change, create the cluster again',
        CONTINUES,
        abandonment,
      ),
  }),
  /** `acceptedIn` is the region in which AWS accepts the same credentials. */
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
    // The first retries are soon: AWS may have rejected credentials that were replaced at that moment.
    poll: pollDoubling(2 * SECOND, 5 * MINUTE),
    describe: ({ region, acceptedIn, account, detail }) =>
      `AWS rejects the credentials in region ${quoted(region)} and accepts them in region ${quoted(acceptedIn)}, so region ${quoted(region)} is not enabled for account ${account ?? 'of these credentials'}. AWS says: ${detail}`,
    remedy: ({ region, abandonment, ...target }) =>
      remedyFor(
        `Enable region ${quoted(region)} in the AWS account, or name an identity with credentials for this region in ${identityField(target)}`,
        RETRIES,
        abandonment,
        'the region stays disabled',
      ),
  }),
  WrongAccount: defineReason<
    Abandonable & { readonly whose: string; readonly recorded: string; readonly found: string }
  >({
    nature: 'human',
    ...credentials,
    poll: pollDoubling(30 * SECOND, 5 * MINUTE),
    describe: ({ whose, recorded, found }) =>
      `the credentials of ${whose} belong to account ${found}, but the Fargate profile of this object is in account ${recorded}. The controller reads and changes nothing in account ${found}`,
    remedy: ({ whose, recorded, abandonment }) =>
      remedyFor(`Use credentials of account ${recorded} for ${whose}`, RETRIES, abandonment),
  }),
  AccountUncertain: defineReason<
    OfTarget & { readonly cluster: string; readonly region: string; readonly account: string }
  >({
    nature: 'human',
    ...credentials,
    poll: pollDoubling(30 * SECOND, 5 * MINUTE),
    describe: ({ cluster, region, account }) =>
      `the deletion of this object waits, because account ${account} has no EKS cluster "${cluster}" in region ${region}, and this object does not record in which account its Fargate profile is`,
    remedy: (target) =>
      `Name an identity with credentials of the right account in ${identityField(target)}. Or, if the profile and its role no longer exist, set spec.deletionPolicy to Retain: then the deletion ends without a change in AWS. ${RETRIES}`,
  }),
} as const;
