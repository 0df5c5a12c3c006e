import { sleep, withDeadline } from '../../async/deadline.ts';
import type { Clock, Ms } from '../../env/clock.ts';
import { decodeObject, parseJson } from './decode.ts';
import { errorFromResponse, type ApiResponse } from './error-response.ts';
import { KubeError } from '../errors.ts';
import { readText, type Method, type Transport } from '../transport.ts';
import type { KubeObject } from '../types.ts';

/** An admission webhook may take 30 s at most, and the API server rarely needs more for a write. */
export const REQUEST_DEADLINE: Ms = 30_000;
/** The default of kube-apiserver's `--request-timeout`, after which kube-apiserver itself aborts the list. */
export const LIST_DEADLINE: Ms = 60_000;
/** How often a request is repeated because the API server asks for that with Retry-After, as in client-go. */
const MAX_RETRIES = 10;

export const ACCEPT_JSON = { accept: 'application/json' };

export interface ApiRequest {
  /** For error messages, e.g. "getting x". */
  readonly doing: string;
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** The Accept header. The default is `application/json`. */
  readonly accept?: string;
  /** In bytes, unlimited by default. */
  readonly maxBody?: number;
  /** Whether the request is repeated if the API server asks for a retry (Retry-After). The default is true. */
  readonly isRepeated?: boolean;
  /** For the request and its retries together. The default is {@link REQUEST_DEADLINE}. */
  readonly limit?: Ms;
  readonly signal: AbortSignal;
}

/**
 * Sends requests to the API server with a deadline, reads the whole response, and repeats a request when the API server
 * asks for that with Retry-After. Every method throws {@link KubeError}.
 */
export class ApiRequests {
  private readonly transport: Transport;
  private readonly clock: Clock;

  constructor(transport: Transport, clock: Clock) {
    this.transport = transport;
    this.clock = clock;
  }

  async sendForObject(request: ApiRequest): Promise<KubeObject> {
    return decodeObject(request.doing, await this.sendForJson(request));
  }

  async sendForJson(request: ApiRequest): Promise<unknown> {
    return parseJson(request.doing, (await this.sendWithRetries(request)).text);
  }

  /** Repeats the request within its time limit, as long as the API server asks for that with Retry-After. */
  private async sendWithRetries(request: ApiRequest): Promise<ApiResponse> {
    const { clock } = this;
    const { doing, method, limit = REQUEST_DEADLINE, isRepeated = true, signal } = request;
    const end = clock.monotonic() + limit;
    for (let retries = 0; ; retries++) {
      const response = await this.sendOnce(request, end - clock.monotonic());
      if (response.status >= 200 && response.status <= 299) return response;
      const error = errorFromResponse(doing, method, response);
      const delay = isRepeated ? retryDelayOf(error) : undefined;
      if (delay === undefined || retries === MAX_RETRIES || clock.monotonic() + delay >= end) throw error;
      await sleep(clock, delay, signal).catch(() => {
        throw error;
      });
    }
  }

  private async sendOnce(request: ApiRequest, limit: Ms): Promise<ApiResponse> {
    const { doing, method, path, maxBody } = request;
    return withDeadline(this.clock, limit, request.signal, 'the API server', async (signal) => {
      const response = await this.transport.send({
        method,
        path,
        signal,
        ...headersAndBody(request),
      });
      return { status: response.status, headers: response.headers, text: await readText(response.body, maxBody) };
    }).catch((cause: unknown) => {
      throw noAnswerError(doing, cause);
    });
  }
}

/** The API server asks for a retry if it is overloaded, starting, or stopping. As in client-go's rest/with_retry.go. */
const retryDelayOf = ({ status, retryAfter }: KubeError): Ms | undefined =>
  status === 429 || status >= 500 ? retryAfter : undefined;

function headersAndBody({ body, contentType = 'application/json', accept = ACCEPT_JSON.accept }: ApiRequest): {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
} {
  if (body === undefined) return { headers: { accept } };
  return { headers: { accept, 'content-type': contentType }, body: JSON.stringify(body) };
}

export const noAnswerError = (doing: string, cause: unknown): KubeError =>
  new KubeError(`${doing}: no answer`, { status: 0, reason: 'NoAnswer', cause });
