import { RECORD_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { ReadObstacle } from 'controller-runtime/cache';
import { type Denial, describeCredentials, MANAGER_ITSELF } from '../../../pkg/cloud/index.ts';
import { EKS_CLUSTER_TAG } from '../../../pkg/fargate/tags/tag-keys.ts';
import { CREDENTIALS, defineReason, IN_KUBERNETES, MISSING_PATIENCE, type ReasonSpec } from './definition.ts';
import { pollCredentials, pollOccasionally, pollOften, pollRegion } from './delays.ts';
import {
  type Abandonable,
  remedyFor,
  remedyForPolicy,
  type Description,
  retries,
  continues,
  type OfTarget,
  identityField,
  quoted,
  remedyForUnreadable,
  quoteAws,
} from './wording.ts';

/** `said` are AWS's words, if AWS rejected the credentials. */
type Unusable = Description & Abandonable & { readonly said?: string };

const unusable = <F extends Unusable>(
  action: (facts: F) => string,
  outlook: (facts: F) => string = continues,
): ReasonSpec<F> => ({
  nature: 'human',
  ...CREDENTIALS,
  poll: pollCredentials,
  problem: ({ detail }) => detail,
  remedy: (facts) => remedyFor(action(facts), facts.abandonment),
  outlook,
  quote: ({ said }) => (said === undefined ? undefined : { by: 'AWS', said }),
});

/** A user may be about to create the missing credentials, so `Stalled` becomes True only after a delay. */
const missing = <F extends Unusable>(...texts: Parameters<typeof unusable<F>>): ReasonSpec<F> => ({
  ...unusable(...texts),
  patience: MISSING_PATIENCE,
});

/** `missing` contains kind and name. */
type Missing = Unusable & { readonly missing: string };

export const CREDENTIAL_REASONS = {
  CredentialsMissing: missing<Unusable & OfTarget>(
    (target) => `Configure AWS credentials for the manager, or name an identity in ${identityField(target)}`,
    retries,
  ),
  CredentialsInvalid: missing<Unusable & { readonly whose: string | undefined }>(
    ({ whose }) =>
      whose === MANAGER_ITSELF
        ? 'Renew them, and restart the manager if it reads them from environment variables'
        : 'Renew the credentials of this identity in its Secret, or those of its source identity',
    ({ whose }) => (whose === MANAGER_ITSELF ? retries() : 'The controller then reads them again'),
  ),
  IdentityUnreadable: defineReason<Description & { readonly obstacle?: ReadObstacle }>({
    nature: 'outage',
    ...CREDENTIALS,
    poll: pollOften,
    problem: ({ detail }) => detail,
    remedy: ({ obstacle }) => remedyForUnreadable(obstacle),
    outlook: retries,
  }),
  IdentityNotFound: missing<Missing>(({ missing: identity }) => `Create ${identity}, or fix the reference to it`),
  IdentityNotAllowed: missing(
    () => 'Allow the namespace in spec.allowedNamespaces of the identity, or use another identity',
  ),
  IdentityLoop: unusable(
    () => 'Change spec.sourceIdentityRef of one of these identities, so that it names an identity outside the loop',
  ),
  IdentityInvalid: unusable(
    () => 'Fix the identity, or name another identity in the identityRef or sourceIdentityRef that names it',
  ),
  SecretNotFound: missing<Missing>(
    ({ missing: secret }) =>
      `Create ${secret} with the keys AccessKeyID and SecretAccessKey, or fix spec.secretRef of the identity`,
  ),
  SecretIncomplete: missing(
    () => 'Add the missing keys to the Secret; temporary credentials also need the key SessionToken',
  ),
  /** If the role is in another account, AWS's error often does not say which policy denies the call. */
  AssumeRoleDenied: missing<Unusable & { readonly denial: Denial }>(
    ({ denial: { policy } }) =>
      policy === undefined
        ? 'Allow sts:AssumeRole both in the IAM policy of these credentials and in the trust policy of the role. If the trust policy requires an external ID, set spec.externalID of this AWSClusterRoleIdentity'
        : remedyForPolicy('sts:AssumeRole', policy),
    retries,
  ),
  AssumeRoleRefused: unusable(
    () => 'Fix spec of this AWSClusterRoleIdentity (for example spec.durationSeconds), or the IAM role',
    retries,
  ),
  RegionInvalid: defineReason<Abandonable & OfTarget & { readonly region: string }>({
    ...IN_KUBERNETES,
    ...CREDENTIALS,
    problem: ({ region }) =>
      `the EKS cluster cannot be in region ${quoted(region)}, because this is not the name of an AWS region`,
    remedy: ({ abandonment, isOfObject = false }) =>
      remedyFor(
        isOfObject
          ? 'Create another AWSFargateProfile with the name of an AWS region, such as "eu-west-1", in spec.eksCluster.region'
          : 'Set spec.region of the control plane to the name of an AWS region, such as "eu-west-1"; if the API server rejects this change, recreate the Cluster and its control plane',
        abandonment,
      ),
    outlook: continues,
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
    ...CREDENTIALS,
    poll: pollRegion,
    problem: ({ region, acceptedIn, account }) =>
      `AWS rejects the credentials in region ${quoted(region)}, which is probably not enabled for ${account === undefined ? 'the account of these credentials' : `account ${account}`}, and accepts them in region ${quoted(acceptedIn)}`,
    remedy: ({ region, abandonment, ...target }) =>
      remedyFor(
        `Enable region ${quoted(region)} in the AWS account, or, if the EKS cluster is in another account, name an identity of that account in ${identityField(target)}`,
        abandonment,
        'the region stays disabled',
      ),
    outlook: retries,
    quote: quoteAws,
  }),
  WrongAccount: defineReason<
    Abandonable & OfTarget & { readonly whose: string; readonly recorded: string; readonly found: string }
  >({
    nature: 'human',
    ...CREDENTIALS,
    poll: pollOccasionally,
    problem: ({ whose, recorded, found }) =>
      `${describeCredentials(whose)} belong to account ${found}, but the Fargate profile is recorded in account ${recorded}, so the controller does nothing in account ${found}`,
    remedy: ({ whose, recorded, found, abandonment, ...target }) => {
      const remedy = `Use credentials of account ${recorded}: name another identity in ${identityField(target)}, or change ${describeCredentials(whose)}`;
      return abandonment === undefined
        ? `${remedy}. To leave the recorded profile in AWS and continue in account ${found}, remove the annotation ${RECORD_ANNOTATION} from this object`
        : remedyFor(remedy, abandonment);
    },
    outlook: retries,
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
    ...CREDENTIALS,
    poll: pollOccasionally,
    problem: ({ cluster, region, account, profile }) =>
      `the deletion of this object waits because account ${account} has no EKS cluster "${cluster}" in region ${region}, and the account of Fargate profile ${quoted(profile)} is not recorded`,
    remedy: ({ cluster, region, account, role, ...target }) => {
      const leftover =
        role === undefined
          ? ''
          : `, and delete IAM role ${quoted(role)} if its tag ${EKS_CLUSTER_TAG} ends with ":${region}:${account}:cluster/${cluster}" and no other Fargate profile uses it`;
      return `If the EKS cluster is in another account, name an identity of that account in ${identityField(target)}. If the EKS cluster no longer exists, set spec.deletionPolicy to Retain${leftover}`;
    },
    outlook: () =>
      'With Retain, the controller completes the deletion without changing anything in AWS; until then, it keeps retrying',
  }),
} as const;
