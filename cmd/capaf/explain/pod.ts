import * as s from 'controller-runtime/schema';
import { type Ms, parseTimestamp } from 'controller-runtime/env';
import { fieldAt, isRecord, listAt, textAt, type UnknownRecord } from 'controller-runtime/json';
import { type Path, type SourceDocument, decodeAt, readDocuments, valueAt } from '../documents.ts';
import { Failure, type Io } from '../io.ts';

/** An existing pod, or the pods that a workload creates from its template. */
export interface Pod {
  /** Such as `Pod` or `Deployment`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: UnknownRecord;
  /** The path of `spec` in the manifest, e.g. `spec.template.spec`. */
  readonly path: string;
  /** The kind of the pod's controller. For a template, the kind of the manifest. */
  readonly owner: string | undefined;
  /** Each pod of a StatefulSet gets a claim from each template. */
  readonly claimTemplates: readonly unknown[];
  /** Set if the pod already exists. EKS then no longer chooses a profile for it. */
  readonly created?: { readonly at: Ms | undefined; readonly uid: string; readonly status: unknown };
}

/** The path of the pod template, by kind. Other kinds can have a field `template` that is not a pod template. */
const TEMPLATES: ReadonlyMap<string, Path> = new Map<string, Path>([
  ['Pod', []],
  ['PodTemplate', ['template']],
  ['CronJob', ['spec', 'jobTemplate', 'spec', 'template']],
  ...['DaemonSet', 'Deployment', 'Job', 'ReplicaSet', 'ReplicationController', 'Rollout', 'StatefulSet'].map(
    (kind): [string, Path] => [kind, ['spec', 'template']],
  ),
]);

const hasPods = (object: unknown): boolean => TEMPLATES.has(textAt(object, 'kind') ?? '');

/** Returns `undefined` if the object has no pods, or no containers in them. `namespace` is the default namespace. */
export function podOf(object: unknown, namespace: string): Pod | undefined {
  const kind = textAt(object, 'kind') ?? '';
  const own = fieldAt(object, 'metadata');
  const path = TEMPLATES.get(kind);
  const template = path && valueAt(object, path);
  const spec = fieldAt(template, 'spec');
  if (path === undefined || !isRecord(spec) || !listAt(spec, 'containers').some(isRecord)) return undefined;
  const metadata = fieldAt(template, 'metadata');
  const uid = kind === 'Pod' ? textAt(own, 'uid') : undefined;
  const controller = listAt(own, 'ownerReferences').find((owner) => fieldAt(owner, 'controller') === true);
  return {
    kind,
    namespace: textAt(own, 'namespace') ?? namespace,
    name: textAt(own, 'name') ?? textAt(own, 'generateName') ?? '',
    labels: textsOf(fieldAt(metadata, 'labels')),
    annotations: textsOf(fieldAt(metadata, 'annotations')),
    spec,
    path: [...path, 'spec'].join('.'),
    owner: kind === 'Pod' ? textAt(controller, 'kind') : kind,
    claimTemplates: listAt(fieldAt(object, 'spec'), 'volumeClaimTemplates'),
    ...(uid !== undefined && {
      created: {
        at: parseTimestamp(textAt(own, 'creationTimestamp') ?? ''),
        uid,
        status: fieldAt(object, 'status'),
      },
    }),
  };
}

export const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(isRecord(value) ? value : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );

/** `null` counts as an absent field, as in Go. */
const absentOr = <A>(field: s.Field<A>) => s.optional(s.nullable(field));
const Texts = absentOr(s.map(s.nullable(s.string())));
const Metadata = s.object({ namespace: absentOr(s.string()), labels: Texts, annotations: Texts });
const Template = s.object({ metadata: absentOr(Metadata) });

export interface PodFile {
  readonly pod: Pod;
  /** All documents of the file, which may also contain the pod's claims. */
  readonly documents: readonly unknown[];
}

/**
 * `name` selects a workload if the file contains more than one, as `web` or `deployment/web`.
 * @throws Failure
 */
export async function readPodFile(
  file: string,
  name: string | undefined,
  namespaces: { readonly asked: string | undefined; readonly default: string },
  io: Pick<Io, 'readStdin' | 'signal'>,
): Promise<PodFile> {
  // Duplicate keys are an error only in documents with pods: a rendered chart can contain them in a ConfigMap, which
  // kubectl silently accepts.
  const documents = await readDocuments(file, io, hasPods);
  const found = documents.filter(({ value }) => hasPods(value));
  const [document, ...others] = found.filter(({ value }) => name === undefined || namesOf(value).includes(name));
  if (document === undefined || others.length > 0) {
    const source = file === '-' ? 'standard input' : file;
    const kinds = [...TEMPLATES.keys()].toSorted().join(', ');
    if (found.length === 0) {
      const kindsThere = [...new Set(documents.flatMap(({ value }) => textAt(value, 'kind') ?? []))].join(', ');
      throw new Failure(
        `${source}: there are no objects whose pods capaf knows (${kinds}); there is: ${kindsThere || 'nothing'}`,
      );
    }
    const choices = found.map(({ value }) => namesOf(value).at(-1)).join(', ');
    throw new Failure(`${source}: name one of the objects that have pods (${kinds}); there is: ${choices}`);
  }
  const path = TEMPLATES.get(textAt(document.value, 'kind') ?? '') ?? [];
  requireMetadata(document, path, namespaces.asked);
  const pod = podOf(document.value, namespaces.asked ?? namespaces.default);
  const containers = [...path, 'spec', 'containers'];
  if (pod === undefined)
    throw new Failure(
      `${document.at(containers)}: there are no containers in ${containers.join('.')}, so there is no pod`,
    );
  return { pod, documents: documents.map(({ value }) => value) };
}

function namesOf(object: unknown): readonly string[] {
  const metadata = fieldAt(object, 'metadata');
  const name = textAt(metadata, 'name') ?? textAt(metadata, 'generateName') ?? '';
  return [name, `${(textAt(object, 'kind') ?? '').toLowerCase()}/${name}`];
}

/** @throws Failure where kubectl fails, for example for a label that is not a string, such as `yes` */
function requireMetadata(document: SourceDocument, path: Path, asked: string | undefined): void {
  const own = decodeAt(document, [], Template).metadata?.namespace ?? undefined;
  decodeAt(document, path, Template);
  if (own !== undefined && asked !== undefined && own !== asked)
    throw new Failure(`${document.at(['metadata', 'namespace'])}: the namespace is ${own}, but -n names ${asked}`);
}
