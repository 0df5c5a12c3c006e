/** The prefixes of IAM actions. Only capaf calls `ec2`, `servicequotas`, and `cloudwatch`. */
export type AwsService = 'eks' | 'iam' | 'sts' | 'ec2' | 'servicequotas' | 'cloudwatch';

/**
 * A failed AWS call. `code` is AWS's error name (`ResourceInUseException`, `AccessDenied`, …) or one of these:
 *
 * - `NoAnswer`: AWS did not respond before the deadline or an abort, or the connection broke; the effect of the call is
 *   unknown.
 * - `Undecodable`: the SDK or the codec of the call could not read the response.
 * - `NotDispatched`: this manager stopped the call before it was sent (rate limit, lease, abort); it has no effect.
 * - `NotPrepared`: the SDK refused or failed to build and sign the request, e.g. for a malformed region; it has no
 *   effect.
 * - `NoCredentials`: there are no credentials to sign the call; it has no effect.
 */
export interface AwsFailure {
  readonly service: AwsService;
  readonly operation: string;
  readonly code: string;
  readonly statusCode?: number;
  readonly message: string;
  readonly requestId?: string;
  /** A different region in which AWS accepts the credentials that the call's region rejected. */
  readonly acceptedIn?: string;
  readonly cause?: unknown;
}
