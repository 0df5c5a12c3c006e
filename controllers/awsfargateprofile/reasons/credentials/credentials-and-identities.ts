import { type Denial, MANAGER_ITSELF } from '../../../../pkg/cloud/index.ts';
import { type ReasonSpec, defineReason } from '../spec/reason-spec.ts';
import { MINUTE, SECOND, pollEvery, pollDoubling } from '../spec/poll-intervals.ts';
import { MISSING_PATIENCE } from '../spec/time-until-stalled.ts';
import { type Abandonable, remedyFor } from '../wording/abandonment.ts';
import { cureForPolicy } from '../wording/denial-cure.ts';
import { type Description, RETRIES, CONTINUES, type OfTarget, identityField } from '../wording/phrases.ts';

const credentials = { conditionType: 'CredentialsReady' } as const;

/** The first retry comes soon: an expired session may be renewed by then. */
const pollUnusable = pollDoubling(SECOND, 2 * MINUTE);

const noCredentials = (
  action: string | ((target: OfTarget) => string),
  outlook = RETRIES,
): ReasonSpec<Description & Abandonable & OfTarget> => ({
  nature: 'human',
  ...credentials,
  poll: pollUnusable,
  describe: ({ detail }) => detail,
  remedy: ({ abandonment, ...target }) =>
    remedyFor(typeof action === 'string' ? action : action(target), outlook, abandonment),
});

/** A user may be about to create what is missing, so `Stalled` becomes True only after a delay. */
const missing = (...args: Parameters<typeof noCredentials>): ReturnType<typeof noCredentials> => ({
  ...noCredentials(...args),
  patience: MISSING_PATIENCE,
});

/** `missing` has kind and name. */
const absent = (
  action: (missing: string) => string,
): ReasonSpec<Description & Abandonable & { readonly missing: string }> => ({
  nature: 'human',
  ...credentials,
  patience: MISSING_PATIENCE,
  poll: pollUnusable,
  describe: ({ detail }) => detail,
  remedy: ({ missing: object, abandonment }) => remedyFor(action(object), CONTINUES, abandonment),
});

export const CREDENTIAL_REASONS = {
  CredentialsMissing: missing(
    (target) => `Give the pod of the manager AWS credentials, or name an identity in ${identityField(target)}`,
  ),
  CredentialsInvalid: defineReason<Description & Abandonable & { readonly whose: string | undefined }>({
    nature: 'human',
    ...credentials,
    patience: MISSING_PATIENCE,
    poll: pollUnusable,
    describe: ({ detail }) => detail,
    remedy: ({ whose, abandonment }) =>
      whose === MANAGER_ITSELF
        ? remedyFor(
            'Renew these credentials in the place from which the pod of the manager gets them. If the pod gets them from environment variables, restart the manager',
            'Otherwise the controller reads them again on its own',
            abandonment,
          )
        : remedyFor(
            'Renew the credentials of this identity in its Secret, or those of its source identity',
            'The controller then reads them again on its own',
            abandonment,
          ),
  }),
  IdentityUnreadable: defineReason<Description>({
    nature: 'outage',
    ...credentials,
    poll: pollEvery(30 * SECOND),
    describe: ({ detail }) => detail,
    remedy: () =>
      `If this lasts for more than five minutes, check that the ServiceAccount of the manager may read this object and, if it is an identity, that the CRD of its kind is installed. ${RETRIES}`,
  }),
  IdentityNotFound: absent((identity) => `Create ${identity}, or correct the reference to it`),
  IdentityNotAllowed: missing(
    'Allow the namespace in spec.allowedNamespaces of the identity, or use another identity',
    CONTINUES,
  ),
  IdentityLoop: noCredentials(
    'Change spec.sourceIdentityRef of one of these identities, so that it names an identity outside the loop',
    CONTINUES,
  ),
  IdentityInvalid: noCredentials(
    'Correct the identity. Or find the identityRef or sourceIdentityRef that names it, and name another identity there',
    CONTINUES,
  ),
  SecretNotFound: absent(
    (secret) =>
      `Create ${secret} with the keys AccessKeyID and SecretAccessKey, or correct spec.secretRef of the identity`,
  ),
  SecretIncomplete: missing(
    'Add the missing keys to the Secret; temporary credentials also need the key SessionToken',
    CONTINUES,
  ),
  /** AWS often names no policy if the role is in another account. */
  AssumeRoleDenied: defineReason<Description & Abandonable & { readonly denial: Denial }>({
    nature: 'human',
    ...credentials,
    patience: MISSING_PATIENCE,
    poll: pollUnusable,
    describe: ({ detail }) => detail,
    remedy: ({ denial: { policy }, abandonment }) =>
      remedyFor(
        policy === undefined
          ? 'Allow these credentials to call sts:AssumeRole in their own IAM policy and in the trust policy of the role. If the trust policy requires an external ID, set spec.externalID of the AWSClusterRoleIdentity with this roleARN'
          : cureForPolicy('sts:AssumeRole', policy),
        RETRIES,
        abandonment,
      ),
  }),
  AssumeRoleRefused: noCredentials(
    'Correct spec of the AWSClusterRoleIdentity with this roleARN (for example spec.durationSeconds), or the IAM role',
  ),
} as const;
