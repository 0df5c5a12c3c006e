import type { Entry, Words } from './reason-entry.ts';
import { MINUTE, SECOND, described, doubling, every } from './reason-entry.ts';

const credentials = { part: 'CredentialsReady' } as const;

/** The object is being deleted, and would go without a call to AWS were it to be retained. */
type Releasable = { readonly releasable?: boolean };
const wayOut = (releasable = false): string =>
  releasable ? '; or set spec.deletionPolicy to Retain to let the object go and leave in AWS what is there' : '';

/**
 * Somebody has to see to identity, Secret or role; what is the matter was said by who looked for the credentials. The first
 * look comes soon: a session that AWS took for expired is another one then.
 */
const noCredentials = (cure: string): Entry<Words & Releasable> => ({
  nature: 'human',
  ...credentials,
  poll: doubling(SECOND, 2 * MINUTE),
  words: ({ words }) => words,
  cure: ({ releasable }) => cure + wayOut(releasable),
});

/** Why AWS cannot be asked for want of credentials: the part of the table of reasons that turns `CredentialsReady` False. */
export const CREDENTIAL_REASONS = {
  CredentialsMissing: noCredentials(
    "Give the manager's pod AWS credentials, or name an identity in spec.identityRef of the control plane",
  ),
  CredentialsInvalid: noCredentials('Renew them where they come from; they are read again by themselves'),
  IdentityUnreadable: described<Words>({
    nature: 'outage',
    ...credentials,
    poll: every(30 * SECOND),
    words: ({ words }) => words,
    cure: () => 'It goes on by itself once that can be read',
  }),
  IdentityNotFound: noCredentials('Create it, or correct the reference to it'),
  IdentityNotAllowed: noCredentials('Add the namespace to its spec.allowedNamespaces, or name another identity'),
  IdentityLoop: noCredentials('Let one of them have another spec.sourceIdentityRef'),
  IdentityInvalid: noCredentials('Correct it'),
  SecretNotFound: noCredentials(
    'Create it there with the keys AccessKeyID and SecretAccessKey, or correct spec.secretRef of the identity',
  ),
  SecretIncomplete: noCredentials(
    'Give the Secret the keys AccessKeyID and SecretAccessKey, and SessionToken where the credentials have one',
  ),
  AssumeRoleDenied: noCredentials(
    'Let the trust policy of the role trust these credentials, with the external ID if it asks for one, and let their own policy allow sts:AssumeRole; it is tried again by itself',
  ),
  AssumeRoleRefused: noCredentials('Correct the AWSClusterRoleIdentity or the role; it is tried again by itself'),
  WrongAccount: described<Releasable & { readonly whose: string; readonly recorded: string; readonly found: string }>({
    nature: 'human',
    ...credentials,
    poll: doubling(30 * SECOND, 5 * MINUTE),
    words: ({ whose, recorded, found }) =>
      `the credentials of ${whose} belong to account ${found}, but this object was provisioned in account ${recorded}: nothing is read or changed there`,
    cure: ({ whose, recorded, releasable }) => `Give ${whose} credentials of account ${recorded}${wayOut(releasable)}`,
  }),
  AccountUncertain: described<{ readonly cluster: string; readonly region: string; readonly account: string }>({
    nature: 'human',
    ...credentials,
    poll: doubling(30 * SECOND, 5 * MINUTE),
    words: ({ cluster, region, account }) =>
      `account ${account} has no EKS cluster "${cluster}" in ${region}, and nothing on this object tells in which account its profile was made: it may be in another one`,
    cure: () =>
      'Give the identity credentials of the account that has the profile; or, when nothing is left in AWS, set spec.deletionPolicy to Retain to let the object go',
  }),
} as const;
