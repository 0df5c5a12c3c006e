import { fieldAt, isRecord, listAt, numberAt, textAt, tryJson } from '../../json/record.ts';
import { MAX_FACT } from '../../text/cut.ts';
import type { Ms } from '../../env/clock.ts';
import { redactCredentials } from '../../text/redact.ts';
import { KubeError } from '../errors.ts';

interface Status {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** The values of `details.causes[].reason`. */
  readonly causes: readonly string[];
}

/** Returns `undefined` if the value is not a Status. Cuts a long message, and masks credentials in it. */
export function decodeStatus(value: unknown): Status | undefined {
  if (!isRecord(value) || value['kind'] !== 'Status') return undefined;
  const code = numberAt(value, 'code') ?? 0;
  const causes = listAt(value['details'], 'causes');
  // The message about an eviction does not contain the name of the PodDisruptionBudget, but its cause does.
  const budgets = causes.flatMap((cause) =>
    textAt(cause, 'reason') === 'DisruptionBudget' ? (textAt(cause, 'message') ?? []) : [],
  );
  return {
    code,
    reason: textAt(value, 'reason') ?? reasonOf(code),
    message: redactCredentials([textAt(value, 'message') ?? '', ...budgets].join(' ').trim(), MAX_FACT),
    causes: causes.flatMap((cause) => textAt(cause, 'reason') ?? []),
  };
}

/** The API server answers a DELETE with a Status if it has removed the object. */
export const isStatus = (value: unknown): boolean => fieldAt(value, 'kind') === 'Status';

/** The reasons for responses without a reason in the body, as in apimachinery's NewGenericServerResponse. */
const REASONS: Readonly<Record<number, string>> = {
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
  422: 'Invalid',
};

const reasonOf = (code: number, method?: string): string =>
  code === 409 && method === 'POST' ? 'AlreadyExists' : (REASONS[code] ?? 'Unknown');

/** Converts seconds to ms. Ignores a Retry-After with a date, which the API server does not send. */
function retryAfterOf(header: string | undefined): Ms | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export function errorFromResponse(doing: string, method: string, answer: ApiResponse): KubeError {
  const status = decodeStatus(tryJson(answer.text));
  const retryAfter = retryAfterOf(answer.headers['retry-after']);
  const notServed = status === undefined && answer.status === 404;
  // A proxy or gateway in front of the API server may quote the request with its headers, which contain credentials.
  const text = status?.message ?? redactCredentials(answer.text.trim(), 200);
  const said = text === '' ? `status ${answer.status}` : text;
  return new KubeError(`${doing}: ${said}`, {
    status: answer.status,
    said,
    reason: notServed ? 'NotServed' : status === undefined ? reasonOf(answer.status, method) : status.reason,
    causes: status?.causes ?? [],
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}
