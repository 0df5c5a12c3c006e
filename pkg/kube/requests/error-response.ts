import { fieldAt, isRecord, textAt } from '../../../api/record.ts';
import { MAX_FACT, cut } from '../../../api/text.ts';
import type { Ms } from '../../env/clock.ts';
import { KubeError } from '../errors.ts';

interface Status {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** The values of `details.causes[].reason` of the Status. */
  readonly causes: readonly string[];
}

/**
 * Decodes a Kubernetes Status; `undefined` when the value is no Status. A long message, for example of an admission
 * webhook, is cut.
 */
export function decodeStatus(value: unknown): Status | undefined {
  if (!isRecord(value) || value['kind'] !== 'Status') return undefined;
  const code = typeof value['code'] === 'number' ? value['code'] : 0;
  const listed = fieldAt(value['details'], 'causes');
  const causes: readonly unknown[] = Array.isArray(listed) ? listed : [];
  return {
    code,
    reason: textAt(value, 'reason') ?? reasonOf(code),
    message: cut(textAt(value, 'message') ?? '', MAX_FACT),
    causes: causes.flatMap((cause) => textAt(cause, 'reason') ?? []),
  };
}

/**
 * Whether the body of a response is a Status, with which the API server answers a DELETE that has removed the object.
 */
export const isStatus = (value: unknown): boolean => fieldAt(value, 'kind') === 'Status';

/**
 * Returns the Status reason for the HTTP status code of a response that has no reason in its body, as apimachinery's
 * NewGenericServerResponse does.
 */
function reasonOf(code: number, method?: string): string {
  switch (code) {
    case 400:
      return 'BadRequest';
    case 401:
      return 'Unauthorized';
    case 403:
      return 'Forbidden';
    case 404:
      return 'NotFound';
    case 405:
      return 'MethodNotAllowed';
    case 406:
      return 'NotAcceptable';
    case 409:
      return method === 'POST' ? 'AlreadyExists' : 'Conflict';
    case 410:
      return 'Gone';
    case 413:
      return 'RequestEntityTooLarge';
    case 415:
      return 'UnsupportedMediaType';
    case 422:
      return 'Invalid';
    case 429:
      return 'TooManyRequests';
    case 500:
      return 'InternalError';
    case 503:
      return 'ServiceUnavailable';
    case 504:
      return 'Timeout';
    default:
      return 'Unknown';
  }
}

/** Parses the header Retry-After to ms. The API server sends it in seconds; a Retry-After with a date is ignored. */
function retryAfterOf(header: string | undefined): Ms | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined;
}

/** Makes the KubeError for a response other than 2xx. */
export function errorFromResponse(
  doing: string,
  method: string,
  answer: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly text: string },
): KubeError {
  const status = decodeStatus(tryJson(answer.text));
  const retryAfter = retryAfterOf(answer.headers['retry-after']);
  const notServed = status === undefined && answer.status === 404;
  const said = status?.message ?? cut(answer.text.trim(), 200);
  return new KubeError(`${doing}: ${said === '' ? `status ${answer.status}` : said}`, {
    status: answer.status,
    reason: notServed ? 'NotServed' : status === undefined ? reasonOf(answer.status, method) : status.reason,
    causes: status?.causes ?? [],
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
