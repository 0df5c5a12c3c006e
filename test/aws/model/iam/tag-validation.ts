import { constraintViolated, iamErrors } from '../errors.ts';
import { type Input, optionalString, recordList } from '../input.ts';
import type { TagMap } from '../resources.ts';

/** Reads the tags in the input of an IAM operation. IAM refuses two tag keys that differ only in case. */
export function readTags(input: Input): TagMap {
  const list = recordList(input, 'Tags');
  if (list.length > 50) {
    throw constraintViolated('[tags]', 'tags', 'Member must have length less than or equal to 50');
  }
  const tags: [string, string][] = [];
  const folded = new Set<string>();
  list.forEach((item, index) => {
    const key = optionalString(item, 'Key') ?? '';
    const value = optionalString(item, 'Value') ?? '';
    const at = `tags.${index + 1}.member`;
    checkTagText(key, `${at}.key`, 1, 128);
    checkTagText(value, `${at}.value`, 0, 256);
    if (key.toLowerCase().startsWith('aws:')) {
      throw iamErrors.invalidInput('The specified tag key is invalid: keys that begin with aws: are reserved.');
    }
    if (folded.has(key.toLowerCase())) {
      throw iamErrors.invalidInput('Duplicate tag keys found. Please note that Tag keys are case insensitive.');
    }
    folded.add(key.toLowerCase());
    tags.push([key, value]);
  });
  return Object.fromEntries(tags);
}

function checkTagText(text: string, member: string, shortest: number, longest: number): void {
  const length = [...text].length;
  if (length < shortest) {
    throw constraintViolated(text, member, `Member must have length greater than or equal to ${shortest}`);
  }
  if (length > longest) {
    throw constraintViolated(text, member, `Member must have length less than or equal to ${longest}`);
  }
  if (!/^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u.test(text)) {
    throw constraintViolated(
      text,
      member,
      'Member must satisfy regular expression pattern: [\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]+',
    );
  }
}
