import { cut } from 'controller-runtime/text';
import { MAX_TAG_KEY, MAX_TAG_VALUE } from '../../../api/v1beta2/index.ts';

const RESERVED_PREFIX = 'aws:';
/** The characters that IAM and EKS allow in tags. The CRD applies the same rule to spec.additionalTags. */
const ALLOWED = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

/** `source` is for error messages, such as `the control plane`. */
export interface SourcedTag {
  readonly key: string;
  readonly value: string;
  readonly source: string;
}

/** Returns a clause for an error message about each limit that the tag exceeds. */
export function validateTag({ key, value, source }: SourcedTag): readonly string[] {
  const tag = `tag ${JSON.stringify(cut(key, MAX_SHOWN_KEY))} of ${source}`;
  const problems: string[] = [];
  if (key === '') {
    problems.push(`a tag of ${source} has an empty key`);
  }
  if (isLongerThan(MAX_TAG_KEY, key)) {
    problems.push(`${tag}: the key has ${countCharacters(key)} characters, but AWS allows only ${MAX_TAG_KEY}`);
  }
  if (isLongerThan(MAX_TAG_VALUE, value)) {
    problems.push(`${tag}: the value has ${countCharacters(value)} characters, but AWS allows only ${MAX_TAG_VALUE}`);
  }
  if (isReserved(key)) {
    problems.push(`${tag}: AWS reserves keys that begin with "${RESERVED_PREFIX}"`);
  }
  for (const [part, text] of [
    ['key', key],
    ['value', value],
  ] as const) {
    if (!ALLOWED.test(text)) {
      problems.push(
        `${tag}: the ${part} may contain only letters, digits, and spaces of any language, and _ . : / = + - @`,
      );
    }
  }
  return problems;
}

export const isReserved = (key: string): boolean => key.toLowerCase().startsWith(RESERVED_PREFIX);

/** AWS counts code points. */
function countCharacters(text: string): number {
  let count = 0;
  for (const _character of text) count += 1;
  return count;
}

/** A code point has one or two UTF-16 code units (`text.length`), so short and very long texts need not be counted. */
export const isLongerThan = (most: number, text: string): boolean =>
  text.length > most && (text.length > 2 * most || countCharacters(text) > most);

const MAX_SHOWN_KEY = 64;
