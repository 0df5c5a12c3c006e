/** The fields of the SDK's signed request that a transport reads. */
export interface AwsRequest {
  readonly method: string;
  /** With its colon: `https:` or `http:`. */
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  /** Percent-encoded. */
  readonly path: string;
  /** Not yet percent-encoded. */
  readonly query?: Record<string, string | string[] | null>;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/** The header names are in lower case. The body is bytes or a stream. */
export interface AwsResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/**
 * Sends HTTP requests to AWS, with the interface of the SDK's request handlers.
 *
 * `handle` rejects when the connection breaks or the signal aborts, even while the response body arrives. It never
 * retries, because a request that is sent twice can have two effects.
 */
export interface AwsTransport {
  handle(request: AwsRequest, options: SendOptions): Promise<{ response: AwsResponse }>;
}

export interface SendOptions {
  readonly abortSignal: AbortSignal;
  /**
   * Called synchronously on an established connection, right before the first byte: DNS, TCP, TLS, or a suspension of
   * the process may have taken any time. If it throws, the request is not sent.
   */
  readonly beforeSend?: () => void;
}
