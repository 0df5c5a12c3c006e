import { fieldAt, isRecord, textAt, type UnknownRecord } from '../../json/record.ts';
import { redactCredentials } from '../../text/redact.ts';
import { decodeStatus } from './error-response.ts';
import { KubeError } from '../errors.ts';
import type { KubeList, KubeObject, WatchEvent } from '../types.ts';

// The API server guarantees the shape of metadata for every kind, so these decoders check only the fields that the store
// needs as keys. They throw a KubeError with the reason `Undecodable`.

const undecodable = (doing: string, problem: string, cause?: unknown): KubeError =>
  new KubeError(`${doing}: the API server's answer cannot be read: ${problem}`, {
    status: 0,
    reason: 'Undecodable',
    cause,
  });

export function parseJson(doing: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // Damaged JSON is not shown, because it may come from a Secret. Anything else is usually a proxy's HTML page.
    const shown = text.startsWith('{') ? '' : `: ${JSON.stringify(redactCredentials(text, 80))}`;
    throw undecodable(doing, `not JSON${shown}`, cause);
  }
}

const isKubeObject = (value: UnknownRecord): value is UnknownRecord & KubeObject =>
  textAt(value['metadata'], 'name') !== undefined && textAt(value['metadata'], 'resourceVersion') !== undefined;

/** `defaults` contains kind and apiVersion, which the API server omits from the items of some lists. */
export function decodeObject(
  doing: string,
  value: unknown,
  defaults?: Pick<KubeObject, 'apiVersion' | 'kind'>,
): KubeObject {
  if (!isRecord(value)) throw undecodable(doing, 'not an object');
  const object: UnknownRecord = { ...defaults, ...value };
  if (!isKubeObject(object)) throw undecodable(doing, 'an object without metadata.name or metadata.resourceVersion');
  return object;
}

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
      const { code = 0, reason = 'Unknown', message = '' } = decodeStatus(object) ?? {};
      return { type, status: { code, reason, message } };
    }
    default:
      throw undecodable(doing, `a watch event of type ${JSON.stringify(type)}`);
  }
}
