import type { KubeObject } from 'controller-runtime/client';

/** An Event of core/v1, with the fields that this file uses. */
export interface DescribedEvent extends KubeObject {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
  readonly source?: { readonly component?: string };
  readonly involvedObject: { readonly uid?: string };
  readonly lastTimestamp: string;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

/** Values that differ between two runs, each with the placeholder that replaces it. */
const PLACEHOLDERS: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>'],
  [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z/g, '<time>'],
  [/AROA[A-Z0-9]+/g, '<role id>'],
  [/subnet-[0-9a-f]{17}/g, '<subnet>'],
  [/\n/g, String.raw`\n`],
];

const SOURCE = 'cluster-api-provider-aws-fargate';
/** The fields of the metadata that the golden files omit, because their values say nothing about the situation. */
const SKIPPED = ['creationTimestamp', 'deletionGracePeriodSeconds', 'managedFields', 'resourceVersion', 'uid'];

/**
 * Returns the object as its user sees it, in lines that begin with a key and a colon: a line for each field, then one
 * for each condition, then one for each Event. If a message repeats the message of a condition, the type of that
 * condition replaces it.
 */
export function linesOf(object: KubeObject, events: readonly DescribedEvent[]): readonly string[] {
  const { metadata, spec, status = {}, apiVersion, kind } = object;
  const { conditions, ...fields } = status as {
    readonly conditions?: readonly Condition[];
    observedGeneration?: number;
  };
  const said = new Map<string, string>();
  const text = (message: string | undefined, by?: string): string => {
    if (message === undefined || message === '') return '';
    const first = said.get(message);
    if (first === undefined && by !== undefined) said.set(message, by);
    return first === undefined ? message : `<message of ${first}>`;
  };
  const generation = metadata.generation ?? 0;
  const isCurrent = (observed: number | undefined): boolean => observed === generation;
  const { observedGeneration, ...statusFields } = fields;
  return [
    ...fieldsOf({ apiVersion, kind, metadata: without(metadata, SKIPPED), spec, status: statusFields }, ''),
    ...(isCurrent(observedGeneration) ? [] : [`status.observedGeneration: ${observedGeneration} of ${generation}`]),
    ...(conditions ?? []).map(
      ({ type, status: is, reason, message, observedGeneration: observed, lastTransitionTime }) => {
        const notes = [
          ...(isCurrent(observed) ? [] : [`observed generation ${observed} of ${generation}`]),
          ...(lastTransitionTime === undefined ? ['no lastTransitionTime'] : []),
        ];
        return `${type}: ${[`${is} ${reason}`, ...notes, text(message, type)].filter((part) => part !== '').join(', ')}`;
      },
    ),
    ...events
      .filter(({ involvedObject }) => involvedObject.uid === metadata.uid)
      .toSorted((a, b) => (a.lastTimestamp < b.lastTimestamp ? -1 : Number(a.lastTimestamp > b.lastTimestamp)))
      .map(({ type, reason, message, count = 1, source }) => {
        const notes = [
          ...(count === 1 ? [] : [`x${count}`]),
          ...(source?.component === SOURCE ? [] : [`from ${source?.component}`]),
        ];
        return `${type} ${reason}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}: ${text(message)}`;
      }),
  ].map((line) => PLACEHOLDERS.reduce((all, [pattern, placeholder]) => all.replaceAll(pattern, placeholder), line));
}

/**
 * Returns the lines that the usual object does not have, and the keys of the usual object's lines that the object
 * lacks.
 */
export function differencesFrom(usual: readonly string[], lines: readonly string[]): readonly string[] {
  const keys = new Set(lines.map(keyOf));
  const absent = usual.map(keyOf).filter((key) => !keys.has(key));
  return [
    ...lines.filter((line) => !usual.includes(line)),
    ...(absent.length === 0 ? [] : [`without: ${absent.join(', ')}`]),
  ];
}

const keyOf = (line: string): string => line.slice(0, line.indexOf(': '));

/** Returns a line for each field of a value. A list without objects is one line. */
function fieldsOf(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value))
    return value.some((item) => typeof item === 'object')
      ? value.flatMap((item, index) => fieldsOf(item, `${path}[${index}]`))
      : [`${path}: ${value.join(', ')}`];
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null)
    return [`${path}: ${typeof value === 'string' ? value : JSON.stringify(value)}`];
  return Object.entries(value).flatMap(([key, field]) => fieldsOf(field, path === '' ? key : `${path}.${key}`));
}

const without = (object: object, keys: readonly string[]): object =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
