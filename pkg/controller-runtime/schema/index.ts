/** Each declaration of a field provides its type, its decoder, and its OpenAPI schema. */
export {
  type Field,
  type TypeOf,
  type ObjectOf,
  string,
  type Brand,
  branded,
  text,
  boolean,
  number,
  integer,
  oneOf,
  nullable,
  optional,
  optionalText,
  list,
  map,
  object,
  anything,
  view,
  refine,
  listOr,
} from './field.ts';
export type { Rule, Json, OpenApi } from './openapi.ts';
export { type DecodeProblem, describeProblem, describeProblems, decode, toProblem } from './problem.ts';
export { type OwnerReference, ObjectMeta, NamespacedMeta } from './meta.ts';
