/**
 * The default session duration of AWS STS, in seconds. It is also the maximum for a role that is assumed with the
 * session of another role.
 */
export const DEFAULT_DURATION_SECONDS = 3_600;
/** The maximum length of a session name in AWS STS, in characters. */
const MAX_SESSION_NAME_LENGTH = 64;

/** Returns the default name of the session that an AWSClusterRoleIdentity starts. CloudTrail shows this name. */
export const defaultSessionName = (identityName: string): string =>
  `capaf-${identityName}`.slice(0, MAX_SESSION_NAME_LENGTH);
