import type { Emulator } from '../emulator.ts';
import type { ClientOutcome } from '../faults.ts';
import type { WireRequest } from '../wire/http.ts';

// The types that an HTTP handler of the AWS SDK needs. This file declares them again instead of importing
// @smithy/types, so that the tests depend only on the packages of the SDK clients.
interface SdkRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface SdkResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

interface HandlerOptions {
  readonly abortSignal?: Pick<AbortSignal, 'aborted'> &
    Partial<Pick<AbortSignal, 'addEventListener' | 'removeEventListener' | 'reason'>>;
}

/**
 * Replaces the HTTP handler of the AWS SDK, so that an SDK client calls an AWS emulator in the same process. The client
 * gets this object as its option `requestHandler`. The handler has no timeout. A call that gets no answer ends only
 * when its abort signal fires.
 */
export class EmulatorRequestHandler {
  readonly metadata = { handlerProtocol: 'http/1.1' };
  readonly #emulator: Emulator;
  readonly #isDated: boolean;

  /**
   * With `isDated`, answers have the header Date, as in AWS. Only clients with a wrong clock need this header. It makes
   * the AWS SDK read the clock of this machine, so simulations leave it out to stay deterministic.
   */
  constructor(emulator: Emulator, { isDated = false }: { readonly isDated?: boolean } = {}) {
    this.#emulator = emulator;
    this.#isDated = isDated;
  }

  async handle(request: SdkRequest, options: HandlerOptions = {}): Promise<{ response: SdkResponse }> {
    const { abortSignal } = options;
    if (abortSignal?.aborted === true) throw abortError(abortSignal.reason);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(abortError(abortSignal?.reason));
    abortSignal?.addEventListener?.('abort', onAbort, { once: true });
    // When the client aborts an AWS call, the client only stops waiting. The AWS emulator still executes the call, as
    // AWS does.
    const exchange = this.#emulator.handle(toWire(request));
    const received = await Promise.race([exchange, aborted]);
    // The manager aborts the signal of each call when the call ends. Without this line, each abort would create an
    // error with a stack trace, which takes time.
    if (received.kind === 'answer') abortSignal?.removeEventListener?.('abort', onAbort);
    const response = await toSdk(received, aborted);
    if (this.#isDated) response.headers['date'] = new Date(this.#emulator.clock.now()).toUTCString();
    return { response };
  }

  updateHttpClientConfig(): void {
    // The AWS SDK requires this method, but the handler has no configuration to update.
  }

  httpHandlerConfigs(): Record<string, never> {
    return {};
  }

  destroy(): void {
    // The handler has no resources to release.
  }
}

async function toSdk(exchange: ClientOutcome, aborted: Promise<never>): Promise<SdkResponse> {
  switch (exchange.kind) {
    case 'answer': {
      const { status, headers, body } = exchange.answered.response;
      return { statusCode: status, headers: { ...headers }, body: new TextEncoder().encode(body) };
    }
    case 'silence':
      return aborted;
    case 'reset':
      // This error imitates the error that the AWS SDK's own HTTP handler throws after a connection reset.
      throw Object.assign(new Error('read ECONNRESET'), {
        name: 'TimeoutError',
        code: 'ECONNRESET',
        syscall: 'read',
      });
  }
}

function abortError(reason: unknown): Error {
  return Object.assign(new Error('Request aborted', reason instanceof Error ? { cause: reason } : {}), {
    name: 'AbortError',
  });
}

function toWire(request: SdkRequest): WireRequest {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    for (const item of Array.isArray(value) ? value : [value ?? '']) query.append(name, item);
  }
  const headers = Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    method: request.method,
    path: request.path,
    query,
    headers: Object.fromEntries(headers),
    body: bodyText(request.body),
  };
}

function bodyText(body: unknown): string {
  if (body === undefined || body === null) return '';
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return new TextDecoder().decode(body);
  throw new Error('a request body that is a stream is not supported');
}
