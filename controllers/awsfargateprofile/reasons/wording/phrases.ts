/** The last sentence of most condition messages: the controller acts without the user. */
export const RETRIES = 'The controller retries on its own';
/** The last sentence of condition messages about a wait, or about a mistake that only a user can correct. */
export const CONTINUES = 'The controller then continues on its own';

/** What a user can do if AWS gives no usable answer for a long time. */
export const IF_UNREACHABLE =
  'If this lasts for more than ten minutes, look at the network between the manager and AWS: proxy, firewall, VPC endpoint';

export const quoted = (text: string): string => `"${text}"`;
export const listed = (texts: readonly string[]): string => texts.join(', ');
/** Joins at most three names, and adds the number of the names that are left out. */
export const enumerated = (names: readonly string[]): string =>
  names.length <= 3 ? listed(names) : `${listed(names.slice(0, 3))} and ${names.length - 3} more`;

/**
 * A fact that decides whether a user can solve a problem by a change of the spec, or only with a new object. The text
 * about the problem depends on it.
 */
export type SpecChangeable = {
  /** Whether the object was provisioned. The API server then refuses changes of the fields that EKS cannot change. */
  readonly isProvisioned?: boolean;
};

const replacement =
  'another AWSFargateProfile with selectors for the same pods, and delete this object when the new one is Ready';
/**
 * The text for users about a problem that only a new object solves, because the API server refuses the change of the
 * spec that would help.
 */
export const REPLACE_OBJECT = `Create ${replacement}`;
/** The text of `REPLACE_OBJECT`, beginning with "Or", for a message that already names another action for the user. */
export const OR_REPLACE_OBJECT = `Or create ${replacement}`;

/**
 * The facts of a reason whose description has no fixed wording: the code that finds the problem writes the description
 * into `detail`. The last sentence of `detail` has no full stop.
 */
export type Description = { readonly detail: string };
