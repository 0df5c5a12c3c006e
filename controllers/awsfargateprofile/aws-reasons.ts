import type { Part } from './reason-entry.ts';
import { MINUTE, SECOND, described, doubling, quoted, slowly } from './reason-entry.ts';

/** What AWS said to a call; `about` is the part of the work that the call belongs to. */
type Said = { readonly words: string; readonly about?: Part };

/** Between two tries while AWS gives no usable answer. */
const whileUnavailable = doubling(2 * SECOND, MINUTE);

/** What AWS says to any call. */
export const AWS_REASONS = {
  AccessDenied: described<Said>({
    nature: 'human',
    poll: slowly,
    words: ({ words }) => `AWS denies the request: ${words}`,
    cure: () => 'Allow the action to these credentials; it is tried again by itself',
  }),
  AWSUnavailable: described<Said & { readonly isThrottled?: true }>({
    nature: 'outage',
    // The limiter knows how fast AWS may be asked, and lets objects wait for each other. To wait for longer besides is to
    // count that time twice: of 200 creations one came half a minute after all others.
    poll: (waited, facts) => (facts.isThrottled === true ? 2 * SECOND : whileUnavailable(waited, facts)),
    words: ({ words }) => words,
    cure: () => 'It is asked again by itself',
  }),
  AWSError: described<Said>({
    nature: 'retry',
    poll: doubling(5 * SECOND, 5 * MINUTE),
    // Some five tries; from then on somebody should look at it.
    patience: 2 * MINUTE,
    words: ({ words }) => `AWS answers with an error: ${words}`,
    cure: () => 'It is tried again by itself; the log of the manager has what AWS Support asks for',
  }),
  Refused: described<Said>({
    nature: 'human',
    poll: slowly,
    words: ({ words }) => `AWS refused the request: ${words}`,
    cure: () => 'Correct the spec, or what it names in AWS; it is tried again by itself',
  }),
  AWSQuotaExceeded: described<Said>({
    nature: 'human',
    poll: slowly,
    words: ({ words }) => `AWS allows no more of this: ${words}`,
    cure: () => 'Delete what is not needed, or ask AWS to raise the quota; it is tried again by itself',
  }),
  EKSClusterNotFound: described<{ readonly cluster: string; readonly region: string; readonly account?: string }>({
    nature: 'human',
    part: 'EKSFargateProfileReady',
    poll: doubling(15 * SECOND, 5 * MINUTE),
    words: ({ cluster, region, account }) =>
      `there is no EKS cluster ${quoted(cluster)} in ${region}` +
      (account === undefined ? '' : ` of account ${account}`),
    cure: () => "Create the cluster, or correct the control plane's spec.eksClusterName and spec.region",
  }),
} as const;
