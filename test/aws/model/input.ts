import { AwsError } from './errors.ts';

/** The decoded input of an AWS operation, not yet validated. */
export type Input = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrongType(name: string): AwsError {
  return new AwsError('SerializationException', 400, `Unexpected type for member ${name}`);
}

export function optionalString(input: Input, name: string): string | undefined {
  const value = input[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw wrongType(name);
  return value;
}

/**
 * Reads an integer from the input of an AWS operation. A client sends the integer as text: to EKS in the query of the
 * URL, and to IAM and STS in the query protocol. Unit tests pass a number.
 */
export function optionalInteger(input: Input, name: string): number | undefined {
  const value = input[name];
  if (value === undefined || value === null) return undefined;
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number)) throw wrongType(name);
  return number;
}

export function stringList(input: Input, name: string): readonly string[] {
  const value = input[name] ?? [];
  if (!Array.isArray(value)) throw wrongType(name);
  return value.map((item: unknown) => {
    if (typeof item !== 'string') throw wrongType(name);
    return item;
  });
}

export function recordList(input: Input, name: string): readonly Input[] {
  const value = input[name] ?? [];
  if (!Array.isArray(value)) throw wrongType(name);
  return value.map((item: unknown) => {
    if (!isRecord(item)) throw wrongType(name);
    return item;
  });
}

export function stringMap(input: Input, name: string): Readonly<Record<string, string>> {
  const value = input[name] ?? {};
  if (!isRecord(value)) throw wrongType(name);
  // Object.fromEntries makes an own property of any key. An assignment would change the prototype for the key
  // `__proto__`, which a client may send.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (typeof item !== 'string') throw wrongType(name);
      return [key, item] as const;
    }),
  );
}

/** Returns the members of an AWS input that have one of these names and are strings. */
export function presentStrings(input: Input, names: readonly string[]): Readonly<Record<string, string>> {
  const present: Record<string, string> = {};
  for (const name of names) {
    const value = input[name];
    if (typeof value === 'string') present[name] = value;
  }
  return present;
}
