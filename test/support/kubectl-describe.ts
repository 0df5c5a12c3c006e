/** A JSON object. */
type Json = Readonly<Record<string, unknown>>;

export interface DescribedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
}

/** An Event of core/v1 with the fields that `kubectl describe` prints. */
export interface DescribedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
  readonly source?: { readonly component?: string };
  readonly involvedObject: { readonly uid?: string };
  readonly lastTimestamp: string;
}

/**
 * A line of the output of `kubectl describe`: a string, or a cell of the first column and the rest of the line. Cells
 * of neighbouring lines are padded to the same width, as by the package text/tabwriter of Go.
 */
type Line = string | readonly [cell: string, rest: string];

/** The number of spaces between the longest cell of the first column and the second column. */
const PADDING = 2;
/** Words of field names that `kubectl describe` prints in capitals, except OSB, which kubectl 1.36 no longer has. */
const ACRONYMS: readonly string[] = ['API', 'URL', 'UID', 'OSB', 'GUID'];
/** Fields of metadata that `kubectl describe` prints at the top or leaves out. */
const SKIPPED: readonly string[] = ['name', 'namespace', 'labels', 'annotations', 'managedFields'];

/**
 * Prints a custom resource like `kubectl describe` (genericDescriber of k8s.io/kubectl/pkg/describe), except for the
 * header, the column widths and the ages of Events. The integration tests compare the result with the output of the
 * real kubectl, after `normalizeDescription`.
 * @param all the Events of the namespace
 */
export function describeAsKubectl(object: DescribedObject & object, all: readonly DescribedEvent[]): string {
  const { name, namespace = '', uid, labels, annotations } = object.metadata;
  const events = all
    .filter(({ involvedObject }) => involvedObject.uid === uid)
    .toSorted((a, b) => (a.lastTimestamp < b.lastTimestamp ? -1 : Number(a.lastTimestamp > b.lastTimestamp)));
  return [
    ...alignColumns([
      ['Name:', name],
      ['Namespace:', namespace],
      ...linesOfMap('Labels:', labels, ([key, value]) => [`${key}=${value}`]),
      ...linesOfMap('Annotations:', annotations, linesOfAnnotation),
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

const toJson = (object: DescribedObject & object): Json => {
  const { metadata, ...rest } = object;
  const kept = Object.entries(metadata).filter(([field]) => !SKIPPED.includes(field));
  return { ...rest, metadata: Object.fromEntries(kept) };
};

/**
 * The lines in which `kubectl describe` prints a map, such as the labels. Only the first line begins with the title.
 */
type Entry = readonly [key: string, value: string];

function linesOfMap(
  title: string,
  values: Readonly<Record<string, string>> = {},
  linesOf: (entry: Entry) => readonly string[],
): readonly Line[] {
  const lines = Object.entries(values)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(linesOf)
    .map((line, index): Line => [index === 0 ? title : '', line]);
  return lines.length === 0 ? [[title, '<none>']] : lines;
}

/** As `maxAnnotationLen` of kubectl, in bytes. */
const LONGEST_ANNOTATION = 140;

/** A long value stands on a line of its own, and is cut. */
function linesOfAnnotation([key, value]: Entry): readonly string[] {
  if (key.length + value.length + 2 <= LONGEST_ANNOTATION) return [`${key}: ${value}`];
  const most = LONGEST_ANNOTATION - 2;
  return [`${key}:`, `  ${value.length > most ? `${value.slice(0, most)}...` : value}`];
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

/**
 * Returns the label that `kubectl describe` prints for a field: `profileARN` becomes `Profile ARN`. A field name with
 * other characters than letters and hyphens does not change. Unlike kubectl 1.36, this function splits a word from the
 * capitals before it: `ARNList` becomes `ARN List`.
 */
function labelOf(field: string): string {
  if (!/^[A-Za-z-]+$/.test(field)) return field;
  return field
    .split(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?=-)|(?<=-)/)
    .map((part) =>
      ACRONYMS.includes(part.toUpperCase()) ? part.toUpperCase() : part.charAt(0).toUpperCase() + part.slice(1),
    )
    .join(' ');
}

/**
 * Pads the cells of consecutive lines to the same width. A line without a cell ends a block of aligned lines; each
 * block has its own width.
 */
function alignColumns(lines: readonly Line[]): readonly string[] {
  const widths = lines.map((line) => (typeof line === 'string' ? 0 : line[0].length));
  return lines.map((line, index) => {
    if (typeof line === 'string') return line;
    const isBlockEnd = (at: number): boolean => typeof lines[at] !== 'object';
    let [from, to] = [index, index];
    while (from > 0 && !isBlockEnd(from - 1)) from -= 1;
    while (to < lines.length - 1 && !isBlockEnd(to + 1)) to += 1;
    const width = Math.max(...widths.slice(from, to + 1)) + PADDING;
    return line[0].padEnd(width) + line[1];
  });
}

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
