import type { Output } from '../context.ts';
import { constraintViolated, iamErrors } from '../errors.ts';
import { type Input, optionalInteger, optionalString } from '../input.ts';

/**
 * Returns the page of an IAM list that `Marker` and `MaxItems` in the input select. `paging` has the members
 * `IsTruncated` and `Marker` of the answer.
 */
export function page<T>(input: Input, items: readonly T[]): { items: readonly T[]; paging: Output } {
  const asked = optionalInteger(input, 'MaxItems') ?? 100;
  if (asked < 1 || asked > 1000) {
    throw constraintViolated(String(asked), 'maxItems', 'Member must have value between 1 and 1000');
  }
  const marker = optionalString(input, 'Marker');
  const start = marker === undefined ? 0 : Number(marker);
  if (!Number.isInteger(start) || start < 0) throw iamErrors.validation('Invalid Marker.');
  const end = start + asked;
  const truncated = end < items.length;
  return {
    items: items.slice(start, end),
    paging: { IsTruncated: truncated, ...(truncated ? { Marker: String(end) } : {}) },
  };
}
