import { fieldAt, isRecord, textAt } from '../../api/record.ts';
import type { UnknownRecord } from '../../api/record.ts';
import type { Ms } from '../env/clock.ts';
import { KubeError } from './errors.ts';
import type { KubeList, KubeObject, WatchEvent } from './types.ts';

// The API server guarantees the shape of metadata for every kind, whatever the schema of its CRD allows in other
// fields. The decoders of this file check only the fields that the store needs as keys, and leave the rest of each
// object undecoded.

const undecodable = (doing: string, problem: string, cause?: unknown): KubeError =>
  new KubeError(`${doing}: the API server's answer cannot be read: ${problem}`, {
    status: 0,
    reason: 'Undecodable',
    ...(cause === undefined ? {} : { cause }),
  });

/** @throws KubeError with the reason `Undecodable` if the text is not JSON */
export function parseJson(doing: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const excerpt = text.length > 80 ? `${text.slice(0, 80)}…` : text;
    throw undecodable(doing, `not JSON: ${JSON.stringify(excerpt)}`, cause);
  }
}

const isKubeObject = (value: UnknownRecord): value is UnknownRecord & KubeObject =>
  textAt(value['metadata'], 'name') !== undefined && textAt(value['metadata'], 'resourceVersion') !== undefined;

/** @throws KubeError with the reason `Undecodable` if the value lacks the metadata of a Kubernetes object */
export function decodeObject(
  doing: string,
  value: unknown,
  defaults?: Pick<KubeObject, 'apiVersion' | 'kind'>,
): KubeObject {
  if (!isRecord(value)) throw undecodable(doing, 'not an object');
  // In a list of a built-in kind the API server sends the items without kind and apiVersion, so the list provides them.
  const object: UnknownRecord = { ...defaults, ...value };
  if (!isKubeObject(object)) throw undecodable(doing, 'an object without metadata.name or metadata.resourceVersion');
  return object;
}

/** @throws KubeError with the reason `Undecodable` if the value is not a list of Kubernetes objects */
export function decodeList(doing: string, value: unknown): KubeList {
  if (!isRecord(value) || !isRecord(value['metadata'])) throw undecodable(doing, 'not a list');
  const items = value['items'] ?? [];
  if (!Array.isArray(items)) throw undecodable(doing, 'items is not a list');
  const [apiVersion = '', kind = ''] = [textAt(value, 'apiVersion'), textAt(value, 'kind')?.replace(/List$/, '')];
  const defaults = { apiVersion, kind };
  const next = textAt(value['metadata'], 'continue');
  return {
    resourceVersion: textAt(value['metadata'], 'resourceVersion') ?? '',
    ...(next === undefined ? {} : { continue: next }),
    items: items.map((item: unknown) => decodeObject(doing, item, defaults)),
  };
}

/** @throws KubeError with the reason `Undecodable` if the line is not a watch event of Kubernetes */
export function decodeWatchEvent(doing: string, line: string): WatchEvent {
  const value = parseJson(doing, line);
  if (!isRecord(value)) throw undecodable(doing, 'a watch event that is no object');
  const { type, object } = value;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: decodeObject(doing, object) };
    case 'BOOKMARK': {
      const resourceVersion = textAt(fieldAt(object, 'metadata'), 'resourceVersion');
      if (resourceVersion === undefined) throw undecodable(doing, 'a bookmark without metadata.resourceVersion');
      return { type, resourceVersion };
    }
    case 'ERROR': {
      const status = decodeStatus(object);
      return {
        type,
        status: {
          code: status?.code ?? 0,
          reason: status?.reason ?? 'Unknown',
          message: status?.message ?? '',
        },
      };
    }
    default:
      throw undecodable(doing, `a watch event of type ${JSON.stringify(type)}`);
  }
}

interface Status {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** The values of `details.causes[].reason` of the Status. */
  readonly causes: readonly string[];
}

/** Decodes a Kubernetes Status; `undefined` when the value is no Status. */
function decodeStatus(value: unknown): Status | undefined {
  if (!isRecord(value) || value['kind'] !== 'Status') return undefined;
  const code = typeof value['code'] === 'number' ? value['code'] : 0;
  const listed = fieldAt(value['details'], 'causes');
  const causes: readonly unknown[] = Array.isArray(listed) ? listed : [];
  return {
    code,
    reason: textAt(value, 'reason') ?? reasonOf(code),
    message: textAt(value, 'message') ?? '',
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
  const said = status?.message ?? answer.text.trim().slice(0, 200);
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
