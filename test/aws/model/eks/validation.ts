import { type AwsError, eksErrors } from '../errors.ts';
import { type Input, optionalString, recordList, stringMap } from '../input.ts';
import type { ProfileSelector, TagMap } from '../resources.ts';

const nameCharacters = /^[\p{L}\p{N}][\p{L}\p{N}_-]*$/u;
const namespacePattern = /^[a-z0-9*?]([-a-z0-9*?]*[a-z0-9*?])?$/;
// The characters in the name and the prefix of a Kubernetes label key. A selector of a Fargate profile may also contain
// the wildcards `*` and `?`.
const labelNamePattern = /^[A-Za-z0-9*?]([-A-Za-z0-9_.*?]{0,61}[A-Za-z0-9*?])?$/;
const labelPrefixPattern = /^[a-z0-9*?]([-a-z0-9*?.]*[a-z0-9*?])?$/;
const labelValuePattern = /^([A-Za-z0-9*?]([-A-Za-z0-9_.*?]{0,61}[A-Za-z0-9*?])?)?$/;

/** https://docs.aws.amazon.com/eks/latest/userguide/fargate-profile.html: five selectors, and five labels in each. */
const MAX_SELECTORS = 5;
const MAX_LABELS = 5;

export function checkProfileName(name: string): void {
  const refuse = (message: string): AwsError => eksErrors.invalidParameter(message, { fargateProfileName: name });
  if (!nameCharacters.test(name)) {
    throw refuse(
      'The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can have any of the following characters: the set of Unicode letters, digits, hyphens and underscores.',
    );
  }
  if ([...name].length > 100) {
    throw refuse('The Fargate profile name parameter should not be greater than 100 characters.');
  }
  if (name.startsWith('eks-')) {
    throw refuse("The fargate profile name starts with the reserved prefix: 'eks-'.");
  }
}

function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash < 0) return labelNamePattern.test(key);
  const prefix = key.slice(0, slash);
  return prefix.length <= 253 && labelPrefixPattern.test(prefix) && labelNamePattern.test(key.slice(slash + 1));
}

export function readSelectors(input: Input): readonly ProfileSelector[] {
  const selectors = recordList(input, 'selectors');
  if (selectors.length === 0) throw eksErrors.invalidParameter('Fargate Profile requires at least one selector.');
  if (selectors.length > MAX_SELECTORS) {
    throw eksErrors.invalidParameter(`Request contains more than ${MAX_SELECTORS} Selectors`);
  }
  return selectors.map((selector) => {
    const namespace = optionalString(selector, 'namespace');
    if (namespace === undefined || namespace === '') {
      throw eksErrors.invalidParameter(
        'Fargate Profile must have at least one selector with at least one namespace value.',
      );
    }
    if (!namespacePattern.test(namespace)) throw eksErrors.invalidParameter('The namespace provided is invalid.');
    const labels = stringMap(selector, 'labels');
    if (Object.keys(labels).length > MAX_LABELS) {
      throw eksErrors.invalidParameter(`Request contains Selector with more than ${MAX_LABELS} Label pairs`);
    }
    for (const [key, value] of Object.entries(labels)) {
      if (!isLabelKey(key) || !labelValuePattern.test(value)) {
        throw eksErrors.invalidParameter('Selector label provided is invalid.');
      }
    }
    return { namespace, labels };
  });
}

/** The characters of tags: https://docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html#tag-restrictions */
const tagText = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

/**
 * Returns the reason why EKS refuses the tags; undefined: EKS accepts them. AWS documents the limits of tags but not
 * the error messages, so the texts of this function are invented. The manager may rely only on the tag key in them.
 */
export function tagsFault(tags: TagMap): string | undefined {
  const keys = Object.keys(tags);
  if (keys.length > 50) return 'The number of tags exceeds the limit of 50.';
  for (const [key, value] of Object.entries(tags)) {
    const [keyLength, valueLength] = [[...key].length, [...value].length];
    if (keyLength < 1 || keyLength > 128) return `The tag key '${key}' must have 1 to 128 characters.`;
    if (valueLength > 256) return `The value of tag '${key}' must have at most 256 characters.`;
    if (!tagText.test(key) || !tagText.test(value)) return `The tag '${key}' has a character that is not allowed.`;
    if (key.toLowerCase().startsWith('aws:')) return `The tag key '${key}' begins with the reserved prefix 'aws:'.`;
  }
  return undefined;
}
