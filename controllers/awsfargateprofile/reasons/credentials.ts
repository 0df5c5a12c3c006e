import type { ReadObstacle } from 'controller-runtime/cache';
import { type Denial, MANAGER_ITSELF } from '../../../pkg/cloud/index.ts';
import {
  type ReasonSpec,
  defineReason,
  MINUTE,
  SECOND,
  pollEvery,
  pollDoubling,
  MISSING_PATIENCE,
  pollRarely,
} from './definition.ts';
import {
  type Abandonable,
  remedyFor,
  remedyForPolicy,
  type Description,
  RETRIES,
  CONTINUES,
  type OfTarget,
  identityField,
  quoted,
  remedyForUnreadable,
} from './wording.ts';
import { EKS_CLUSTER_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';

const credentials = { conditionType: 'CredentialsReady' } as const;

/** The first retry comes soon, because an expired session may be renewed by then. */
const pollUnusable = pollDoubling(SECOND, 2 * MINUTE);

const unusable = <F extends Description>(remedy: (facts: F) => string): ReasonSpec<F> => ({
  nature: 'human',
  ...credentials,
  poll: pollUnusable,
  describe: ({ detail }) => detail,
  remedy,
});

/**
 * Defines a reason for missing credentials. A user may be about to create what is missing, so `Stalled` becomes True
 * only after a delay.
 */
const missing = <F extends Description>(remedy: (facts: F) => string): ReasonSpec<F> => ({
  ...unusable(remedy),
  patience: MISSING_PATIENCE,
});

const fixed =
  (action: string, outlook = CONTINUES) =>
  ({ abandonment }: Description & Abandonable & OfTarget): string =>
    remedyFor(action, outlook, abandonment);

/** `missing` contains kind and name. */
const absent =
  (action: (missing: string) => string) =>
  ({ missing: object, abandonment }: Description & Abandonable & { readonly missing: string }): string =>
    remedyFor(action(object), CONTINUES, abandonment);

export const CREDENTIAL_REASONS = {
  CredentialsMissing: missing<Description & Abandonable & OfTarget>(({ abandonment, ...target }) =>
    remedyFor(
      `Configure AWS credentials for the manager, or name an identity in ${identityField(target)}`,
      RETRIES,
      abandonment,
    ),
  ),
  CredentialsInvalid: missing<Description & Abandonable & { readonly whose: string | undefined }>(
    ({ whose, abandonment }) =>
      whose === MANAGER_ITSELF
        ? remedyFor(
            'Renew the credentials of the manager, and restart it if it reads them from environment variables',
            'Otherwise the controller reads them again',
            abandonment,
          )
        : remedyFor(
            'Renew the credentials of this identity in its Secret, or those of its source identity',
            'The controller then reads them again',
            abandonment,
          ),
  ),
  IdentityUnreadable: defineReason<Description & { readonly obstacle?: ReadObstacle }>({
    nature: 'outage',
    ...credentials,
    poll: pollEvery(30 * SECOND),
    describe: ({ detail }) => detail,
    remedy: ({ obstacle }) => `${remedyForUnreadable(obstacle)}. ${RETRIES}`,
  }),
  IdentityNotFound: missing(absent((identity) => `Create ${identity}, or fix the reference to it`)),
  IdentityNotAllowed: missing(
    fixed('Allow the namespace in spec.allowedNamespaces of the identity, or use another identity'),
  ),
  IdentityLoop: unusable(
    fixed('Change spec.sourceIdentityRef of one of these identities, so that it names an identity outside the loop'),
  ),
  IdentityInvalid: unusable(
    fixed(
      'Fix the identity. Or find the identityRef or sourceIdentityRef that names it, and name another identity there',
    ),
  ),
  SecretNotFound: missing(
    absent(
      (secret) =>
        `Create ${secret} with the keys AccessKeyID and SecretAccessKey, or fix spec.secretRef of the identity`,
    ),
  ),
  SecretIncomplete: missing(
    fixed('Add the missing keys to the Secret; temporary credentials also need the key SessionToken'),
  ),
  /** If the role is in another account, AWS's error often does not say which policy denies the call. */
  AssumeRoleDenied: missing<Description & Abandonable & { readonly denial: Denial }>(
    ({ denial: { policy }, abandonment }) =>
      remedyFor(
        policy === undefined
          ? 'Allow these credentials to call sts:AssumeRole in their own IAM policy and in the trust policy of the role. If the trust policy requires an external ID, set spec.externalID of the AWSClusterRoleIdentity with this roleARN'
          : remedyForPolicy('sts:AssumeRole', policy),
        RETRIES,
        abandonment,
      ),
  ),
  AssumeRoleRefused: unusable(
    fixed(
      'Fix spec of the AWSClusterRoleIdentity with this roleARN (for example spec.durationSeconds), or the IAM role',
      RETRIES,
    ),
  ),
} as const;

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
          : 'Set spec.region of the control plane to the name of an AWS region, such as "eu-west-1". If the API server does not allow this change, recreate the Cluster and its control plane',
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
      `AWS rejects the credentials in region ${quoted(region)} and accepts them in region ${quoted(acceptedIn)}. Region ${quoted(region)} is probably not enabled for ${account === undefined ? 'the account of these credentials' : `account ${account}`}. AWS says: ${detail}`,
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
      `the credentials of ${whose} belong to account ${found}, but the Fargate profile is recorded in account ${recorded}, so the controller does nothing in account ${found}`,
    remedy: ({ whose, recorded, abandonment, ...target }) =>
      remedyFor(
        `Use credentials of account ${recorded}: name another identity in ${identityField(target)}, or change the credentials of ${whose}`,
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
      `the deletion of this object waits because account ${account} has no EKS cluster "${cluster}" in region ${region}, and the account of Fargate profile ${quoted(profile)} is not recorded`,
    remedy: ({ cluster, role, ...target }) =>
      [
        `If the EKS cluster is in another account, name an identity of that account in ${identityField(target)}. ${RETRIES}. If the EKS cluster no longer exists, set spec.deletionPolicy to Retain; the deletion of this object then ends without a change in AWS`,
        ...(role === undefined
          ? []
          : [
              `A role that the controller created for this object stays: ${quoted(role)}, whose tag ${EKS_CLUSTER_TAG} ends with "/${cluster}". Delete it if no other Fargate profile uses it`,
            ]),
      ].join('. '),
  }),
} as const;
