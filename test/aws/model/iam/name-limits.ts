import { constraintViolated, iamErrors } from '../errors.ts';
import { type Input, optionalString } from '../input.ts';

/** The maximum lengths of names in IAM, in characters. */
export const ROLE_NAME_LIMIT = 64;
export const POLICY_NAME_LIMIT = 128;
export const INSTANCE_PROFILE_NAME_LIMIT = 128;

/** Returns the name of an input member in the spelling of IAM's validation errors: `roleName` for `RoleName`. */
function memberName(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

export function requiredText(input: Input, name: string): string {
  const value = optionalString(input, name);
  if (value === undefined) throw constraintViolated(null, memberName(name), 'Member must not be null');
  if (value === '') {
    throw constraintViolated('', memberName(name), 'Member must have length greater than or equal to 1');
  }
  return value;
}

/** Reads the name of an IAM resource. A valid name has 1 to `longest` characters of `[\w+=,.@-]`. */
export function requiredName(input: Input, name: string, longest: number): string {
  const value = requiredText(input, name);
  if (value.length > longest) {
    throw constraintViolated(value, memberName(name), `Member must have length less than or equal to ${longest}`);
  }
  if (!/^[\w+=,.@-]+$/.test(value)) {
    throw iamErrors.validation(
      `The specified value for ${memberName(name)} is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-`,
    );
  }
  return value;
}

export function optionalPath(input: Input): string {
  const path = optionalString(input, 'Path') ?? '/';
  if (path.length > 512 || !/^(?:\/|\/[\u0021-\u007e]*\/)$/.test(path)) {
    throw iamErrors.validation(
      'The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.',
    );
  }
  return path;
}
