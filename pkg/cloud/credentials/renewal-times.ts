import type { Ms } from '../../env/clock.ts';

/** Credentials are renewed this long before they expire, as in the AWS SDKs. */
export const RENEW_BEFORE_EXPIRY: Ms = 5 * 60_000;
/** If the renewal of cached credentials fails, they stay in use until only this time is left before they expire. */
export const MIN_VALIDITY: Ms = 30_000;
/** Credentials that do not expire are fetched again after this time, because the file that contains them may change. */
export const REREAD_INTERVAL: Ms = 60_000;
/**
 * The pause until the next fetch of credentials, if a fetch has failed or has returned credentials that expire soon.
 * Without the pause, each of a thousand objects would fetch the credentials again.
 */
export const RETRY_INTERVAL: Ms = 5_000;
