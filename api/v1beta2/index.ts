export * from './awsfargateprofile.ts';
export * from './status.ts';
export * from './kind.ts';
export * from './spec.ts';
export {
  LABEL_KEY_FORM,
  LABEL_KEY_PATTERN,
  LABEL_VALUE_FORM,
  LONGEST_DRAIN,
  MAX_ADDITIONAL_TAGS,
  MAX_DURATION_TEXT,
  MAX_TAGS,
  MAX_TAG_KEY,
  MAX_TAG_VALUE,
  NAMESPACE_FORM,
  NAMESPACE_PATTERN,
  PROFILE_NAME_PROBLEMS,
} from './validation-rules.ts';
export { describeProblem, describeProblems } from 'controller-runtime/schema';
export type { DecodeProblem } from 'controller-runtime/schema';
