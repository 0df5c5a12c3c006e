import { Readable } from 'node:stream';
import type { Emulator } from './emulator.ts';
import type { Exchange } from './faults.ts';
import type { WireRequest } from './wire/http.ts';

// The shapes are those of @smithy/types, named here so that nothing but the SDK clients needs to be installed.
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
  readonly body: Uint8Array | Readable;
}

interface HandlerOptions {
  readonly abortSignal?: Pick<AbortSignal, 'aborted'> & Partial<Pick<AbortSignal, 'addEventListener' | 'reason'>>;
}

/**
 * Stands in for the SDK's HTTP handler: `new EKSClient({ requestHandler: new EmulatorRequestHandler(emulator) })`.
 * It has no timer; a call that AWS never answers ends when its abort signal fires.
 */
export class EmulatorRequestHandler {
  readonly metadata = { handlerProtocol: 'http/1.1' };
  readonly #emulator: Emulator;

  constructor(emulator: Emulator) {
    this.#emulator = emulator;
  }

  async handle(request: SdkRequest, options: HandlerOptions = {}): Promise<{ response: SdkResponse }> {
    const { abortSignal } = options;
    if (abortSignal?.aborted === true) throw abortError(abortSignal.reason);
    const aborted = new Promise<never>((_, reject) => {
      abortSignal?.addEventListener?.('abort', () => reject(abortError(abortSignal.reason)), { once: true });
    });
    // Sent is sent: an abort ends the waiting, not the call.
    const exchange = this.#emulator.handle(toWire(request));
    const received = await Promise.race([exchange, aborted]);
    return { response: await toSdk(received, aborted) };
  }

  updateHttpClientConfig(): void {
    // Nothing to configure.
  }

  httpHandlerConfigs(): Record<string, never> {
    return {};
  }

  destroy(): void {
    // Holds nothing.
  }
}

async function toSdk(exchange: Exchange, aborted: Promise<never>): Promise<SdkResponse> {
  switch (exchange.kind) {
    case 'answer': {
      const { status, headers, body } = exchange.answered.response;
      return { statusCode: status, headers: { ...headers }, body: new TextEncoder().encode(body) };
    }
    case 'silence':
      return aborted;
    case 'reset':
      // As the SDK's own handler reports it.
      throw Object.assign(new Error('read ECONNRESET'), {
        name: 'TimeoutError',
        code: 'ECONNRESET',
        syscall: 'read',
      });
    case 'stall': {
      const { status, headers, body } = exchange.answered.response;
      const stream = new Readable({ read: () => undefined });
      stream.push(body.slice(0, body.length / 2));
      aborted.catch((error: Error) => stream.destroy(error));
      return { statusCode: status, headers: { ...headers }, body: stream };
    }
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
