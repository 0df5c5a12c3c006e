/** A signed request, ready to be sent: the SDK's, of which these parts are read. */
export interface AwsRequest {
  readonly method: string;
  /** `https:` or `http:`. */
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  /** Percent-encoded. */
  readonly path: string;
  /** Not yet encoded. */
  readonly query?: Record<string, string | string[] | null>;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/** Header names are in lower case; the body is whole or a stream. */
export interface AwsResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/**
 * HTTP to AWS: one of the three doors through which nondeterminism enters; a test answers in the same process. It has
 * the shape of the SDK's request handlers.
 *
 * Rejects when the connection breaks and when the signal aborts, which ends a body that is still arriving too. Never
 * retries: a request that was sent twice has two effects.
 */
export interface AwsTransport {
  handle(request: AwsRequest, options: { readonly abortSignal: AbortSignal }): Promise<{ response: AwsResponse }>;
}
