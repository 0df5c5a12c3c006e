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
  handle(request: AwsRequest, options: SendOptions): Promise<{ response: AwsResponse }>;
}

export interface SendOptions {
  readonly abortSignal: AbortSignal;
  /**
   * Called synchronously when a connection stands and right before the first byte goes out; throws to keep the request
   * from being sent. Between hand-over and this moment are DNS, TCP and TLS, and however long the process stood still.
   */
  readonly beforeSend?: () => void;
}
