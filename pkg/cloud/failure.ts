/** The AWS services that the manager calls. */
export type AwsService = 'eks' | 'iam' | 'sts';

/**
 * One AWS call that did not succeed. `code` is AWS's own error name (`ResourceInUseException`, `AccessDenied`, …) or one
 * of ours: `NoAnswer` (nothing came within the deadline, or the connection broke: the effect is unknown), `Undecodable`
 * (an answer that the SDK or our codec could not read), `NotDispatched` (stopped before it was sent: no effect),
 * `NoCredentials` (nothing to sign it with: no effect).
 */
export interface AwsFailure {
  readonly service: AwsService;
  readonly operation: string;
  readonly code: string;
  readonly statusCode?: number;
  /** AWS's own words. */
  readonly message: string;
  readonly requestId?: string;
  readonly cause?: unknown;
}
