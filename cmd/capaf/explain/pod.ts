import { fieldAt, isRecord, textAt, type UnknownRecord } from '../../../api/record.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { parseTimestamp } from '../../../pkg/env/timestamp.ts';
import { listAt, readDocuments, valueAt } from '../documents.ts';
import { Failure, type Io } from '../io.ts';

/** A pod, or the pods that a workload makes from its template. */
export interface Pod {
  /** Of the manifest: `Pod`, `Deployment`, … */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: UnknownRecord;
  /** The path of `spec` in the manifest, e.g. `spec.template.spec`. */
  readonly path: string;
  /** The kind of its controller; for a template that of the manifest. */
  readonly owner: string | undefined;
  /** Set if the API server has admitted the pod already, so that EKS does not choose a profile any more. */
  readonly created?: { readonly at: Ms | undefined };
}

/** Where kinds have their pods: Pod; Deployment, StatefulSet, DaemonSet, Job and others; CronJob. */
const TEMPLATES = [[], ['spec', 'template'], ['spec', 'jobTemplate', 'spec', 'template']] as const;

/** `undefined` if the object has no pods. `namespace` is used if the object names none. */
export function podOf(object: unknown, namespace: string): Pod | undefined {
  const kind = textAt(object, 'kind') ?? '';
  const own = fieldAt(object, 'metadata');
  const path = TEMPLATES.find(
    (each) => (each.length === 0) === (kind === 'Pod') && isRecord(valueAt(object, [...each, 'spec'])),
  );
  const template = path && valueAt(object, path);
  const spec = fieldAt(template, 'spec');
  if (path === undefined || !isRecord(spec)) return undefined;
  const metadata = fieldAt(template, 'metadata');
  const isCreated = kind === 'Pod' && textAt(own, 'uid') !== undefined;
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
    ...(isCreated && { created: { at: parseTimestamp(textAt(own, 'creationTimestamp') ?? '') } }),
  };
}

const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(isRecord(value) ? value : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );

/** `name` chooses one of several. @throws Failure */
export async function readPodFile(
  file: string,
  name: string | undefined,
  namespace: string,
  io: Pick<Io, 'readStdin' | 'signal'>,
): Promise<Pod> {
  const documents = await readDocuments(file, io);
  const found = documents.flatMap(({ value }) => podOf(value, namespace) ?? []);
  const [pod, ...others] = found.filter((each) => name === undefined || each.name === name);
  if (pod !== undefined && others.length === 0) return pod;
  const choices = found.map((each) => `${each.kind} ${each.name}`).join(', ') || 'nothing';
  const source = file === '-' ? 'standard input' : file;
  throw new Failure(`${source}: name one of the objects that are pods or make pods; there is: ${choices}`);
}
