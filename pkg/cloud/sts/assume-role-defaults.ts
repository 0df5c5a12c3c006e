/** The default of AWS STS, and the maximum for a role that is assumed with the session of another role. */
export const DEFAULT_DURATION_SECONDS = 3_600;
/** In characters. */
const MAX_SESSION_NAME_LENGTH = 64;

/** CloudTrail shows this name. */
export const defaultSessionName = (identityName: string): string =>
  `capaf-${identityName}`.slice(0, MAX_SESSION_NAME_LENGTH);
