/** JSON as the API server gives it. */
type Json = Readonly<Record<string, unknown>>;

export interface Described {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
}

/** An Event of core/v1, as far as it is shown. */
export interface DescribedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
  readonly source?: { readonly component?: string };
  readonly involvedObject: { readonly uid?: string };
  readonly lastTimestamp: string;
}

/** A line of Go's tabwriter: with a cell in the first column, or without. */
type Line = string | readonly [cell: string, rest: string];

/** Between the longest cell of a column and the next. */
const PADDING = 2;
/** Names that stay in capitals. */
const ACRONYMS: readonly string[] = ['API', 'URL', 'UID', 'OSB', 'GUID'];
/** Told at the top, or of no interest to people. */
const SKIPPED: readonly string[] = ['name', 'namespace', 'labels', 'annotations', 'managedFields'];

/**
 * What `kubectl describe` prints of an object of a custom kind, the ages of its events aside (GenericDescriber of
 * k8s.io/kubectl/pkg/describe). `all`: the Events of the namespace. Where there is a real kubectl, the integration tests
 * hold this to it.
 */
export function describeAsKubectl(object: Described & object, all: readonly DescribedEvent[]): string {
  const { name, namespace = '', uid, labels, annotations } = object.metadata;
  const events = all
    .filter(({ involvedObject }) => involvedObject.uid === uid)
    .toSorted((a, b) => (a.lastTimestamp < b.lastTimestamp ? -1 : Number(a.lastTimestamp > b.lastTimestamp)));
  return [
    ...aligned([
      ['Name:', name],
      ['Namespace:', namespace],
      ...several('Labels:', labels, '='),
      ...several('Annotations:', annotations, ': '),
      ...fieldsOf(toJson(object), ''),
    ]),
    ...(events.length === 0
      ? ['Events:  <none>']
      : [
          'Events:',
          ...events.map(({ type, reason, message, count = 1, source }) =>
            ['', type, reason, count > 1 ? `1s (x${count} over 1m)` : '1s', source?.component ?? '', message].join(
              '  ',
            ),
          ),
        ]),
    '',
  ].join('\n');
}

const toJson = (object: Described & object): Json => {
  const { metadata, ...rest } = object;
  const kept = Object.entries(metadata).filter(([field]) => !SKIPPED.includes(field));
  return { ...rest, metadata: Object.fromEntries(kept) };
};

/** The title stands before the first alone. */
function several(title: string, values: Readonly<Record<string, string>> = {}, between: string): readonly Line[] {
  const lines = Object.entries(values)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value], index): Line => [index === 0 ? title : '', `${key}${between}${value}`]);
  return lines.length === 0 ? [[title, '<none>']] : lines;
}

function fieldsOf(content: Json, indent: string): readonly Line[] {
  return Object.entries(content)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([field, value]): readonly Line[] => {
      const label = `${indent}${labelOf(field)}:`;
      const inner = `${indent}  `;
      if (Array.isArray(value)) {
        return [
          label,
          ...value.flatMap((each: unknown) => (isRecord(each) ? fieldsOf(each, inner) : [`${inner}${String(each)}`])),
        ];
      }
      return isRecord(value) ? [label, ...fieldsOf(value, inner)] : [[label, String(value)]];
    });
}

/** `profileARN` is `Profile ARN`. A name with anything but letters and hyphens stays as it is. */
function labelOf(field: string): string {
  if (!/^[A-Za-z-]+$/.test(field)) return field;
  return field
    .split(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?=-)|(?<=-)/)
    .map((part) =>
      ACRONYMS.includes(part.toUpperCase()) ? part.toUpperCase() : part.charAt(0).toUpperCase() + part.slice(1),
    )
    .join(' ');
}

/** A column is as wide as it has to be for the lines that follow each other in it. */
function aligned(lines: readonly Line[]): readonly string[] {
  const widths = lines.map((line) => (typeof line === 'string' ? 0 : line[0].length));
  return lines.map((line, index) => {
    if (typeof line === 'string') return line;
    const isBreak = (at: number): boolean => typeof lines[at] !== 'object';
    let [from, to] = [index, index];
    while (from > 0 && !isBreak(from - 1)) from -= 1;
    while (to < lines.length - 1 && !isBreak(to + 1)) to += 1;
    const width = Math.max(...widths.slice(from, to + 1)) + PADDING;
    return line[0].padEnd(width) + line[1];
  });
}

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
