import { type Denial, MANAGER_ITSELF } from '../../../../pkg/cloud/index.ts';
import { type ReasonSpec, defineReason } from '../spec/reason-spec.ts';
import { MINUTE, SECOND, pollEvery, pollDoubling } from '../spec/poll-intervals.ts';
import { MISSING_PATIENCE } from '../spec/time-until-stalled.ts';
import { type Abandonable, remedyFor } from '../wording/abandonment.ts';
import { remedyForPolicy } from '../wording/denial-remedy.ts';
import { type Description, RETRIES, CONTINUES, type OfTarget, identityField } from '../wording/phrases.ts';

const credentials = { conditionType: 'CredentialsReady' } as const;

/** The first retry comes soon: an expired session may be renewed by then. */
const pollUnusable = pollDoubling(SECOND, 2 * MINUTE);

const unusable = <F extends Description>(remedy: (facts: F) => string): ReasonSpec<F> => ({
  nature: 'human',
  ...credentials,
  poll: pollUnusable,
  describe: ({ detail }) => detail,
  remedy,
});

/** A user may be about to create what is missing, so `Stalled` becomes True only after a delay. */
const missing = <F extends Description>(remedy: (facts: F) => string): ReasonSpec<F> => ({
  ...unusable(remedy),
  patience: MISSING_PATIENCE,
});

const fixed =
  (action: string, outlook = CONTINUES) =>
  ({ abandonment }: Description & Abandonable & OfTarget): string =>
    remedyFor(action, outlook, abandonment);

/** `missing` has kind and name. */
const absent =
  (action: (missing: string) => string) =>
  ({ missing: object, abandonment }: Description & Abandonable & { readonly missing: string }): string =>
    remedyFor(action(object), CONTINUES, abandonment);

export const CREDENTIAL_REASONS = {
  CredentialsMissing: missing<Description & Abandonable & OfTarget>(({ abandonment, ...target }) =>
    remedyFor(
      `Give the pod of the manager AWS credentials, or name an identity in ${identityField(target)}`,
      RETRIES,
      abandonment,
    ),
  ),
  CredentialsInvalid: missing<Description & Abandonable & { readonly whose: string | undefined }>(
    ({ whose, abandonment }) =>
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
  ),
  IdentityUnreadable: defineReason<Description>({
    nature: 'outage',
    ...credentials,
    poll: pollEvery(30 * SECOND),
    describe: ({ detail }) => detail,
    remedy: () =>
      `If this lasts for more than five minutes, check that the ServiceAccount of the manager may read this object and, if it is an identity, that the CRD of its kind is installed. ${RETRIES}`,
  }),
  IdentityNotFound: missing(absent((identity) => `Create ${identity}, or correct the reference to it`)),
  IdentityNotAllowed: missing(
    fixed('Allow the namespace in spec.allowedNamespaces of the identity, or use another identity'),
  ),
  IdentityLoop: unusable(
    fixed('Change spec.sourceIdentityRef of one of these identities, so that it names an identity outside the loop'),
  ),
  IdentityInvalid: unusable(
    fixed(
      'Correct the identity. Or find the identityRef or sourceIdentityRef that names it, and name another identity there',
    ),
  ),
  SecretNotFound: missing(
    absent(
      (secret) =>
        `Create ${secret} with the keys AccessKeyID and SecretAccessKey, or correct spec.secretRef of the identity`,
    ),
  ),
  SecretIncomplete: missing(
    fixed('Add the missing keys to the Secret; temporary credentials also need the key SessionToken'),
  ),
  /** AWS often names no policy if the role is in another account. */
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
      'Correct spec of the AWSClusterRoleIdentity with this roleARN (for example spec.durationSeconds), or the IAM role',
      RETRIES,
    ),
  ),
} as const;
