import type { Clock } from '../../env/clock.ts';
import type { Random } from '../../env/random.ts';
import { formatTimestamp } from '../../env/timestamp.ts';
import { jsonEqual } from '../patches.ts';
import { keyOf, keyText } from '../paths.ts';
import type { KubeObject, ObjectKey } from '../types.ts';
import { applyMergePatch } from './merge-patch.ts';

/** A kind that the fake serves. */
export interface FakeKind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  /** Served under these; the objects are the same but for their apiVersion. */
  readonly versions: readonly string[];
  /** Default true. */
  readonly namespaced?: boolean;
  /** Whether status is a subresource, written apart from the rest. Default true. */
  readonly status?: boolean;
  /** What the schema's defaults do, at every write. */
  readonly prepare?: (object: Json) => Json;
  /** Why a write is refused (422 `Invalid`), or `undefined`. */
  readonly refuse?: (object: Json, previous: KubeObject | undefined) => string | undefined;
}

export type Json = Readonly<Record<string, unknown>>;

/** A refusal, as the Status object that is sent. */
export class Refusal extends Error {
  readonly code: number;
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

export interface StoredEvent {
  readonly version: number;
  readonly kind: FakeKind;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  /** The state before, for watches with a selector. */
  readonly previous: KubeObject | undefined;
}

export interface DeleteRequest {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const recordAt = (value: Json, field: string): Json => {
  const found = value[field];
  return isRecord(found) ? found : {};
};

const textAt = (value: Json, field: string): string | undefined => {
  const found = value[field];
  return typeof found === 'string' && found !== '' ? found : undefined;
};

/** Just below a power of ten, so that a comparison of versions as text shows. */
const FIRST_VERSION = 95;

/** Fields of metadata that only the server writes. */
const SERVER_FIELDS = ['uid', 'creationTimestamp', 'generation', 'deletionTimestamp', 'deletionGracePeriodSeconds'];

/** What etcd and the generic registry do for any kind, without HTTP. Objects in it are never changed in place. */
export class FakeStorage {
  private readonly clock: Clock;
  private readonly random: Random;
  /** By kind, whatever versions it is served under, then by key. */
  private readonly objects = new Map<string, Map<string, KubeObject>>();
  private readonly history: StoredEvent[] = [];
  private readonly listeners = new Set<(event: StoredEvent) => void>();
  private version = FIRST_VERSION;
  private compacted = 0;

  constructor(clock: Clock, random: Random) {
    this.clock = clock;
    this.random = random;
  }

  /** The newest resourceVersion. */
  get newest(): number {
    return this.version;
  }

  get(kind: FakeKind, key: ObjectKey): KubeObject | undefined {
    return this.objects.get(idOf(kind))?.get(keyText(key));
  }

  /** In the order of namespace and name. */
  list(kind: FakeKind, namespace = ''): readonly KubeObject[] {
    return [...(this.objects.get(idOf(kind)) ?? new Map<string, KubeObject>())]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object)
      .filter(({ metadata }) => namespace === '' || metadata.namespace === namespace);
  }

  /** Forgets the history up to now: watches and pages from before are refused with 410. */
  compact(): void {
    this.compacted = this.version;
    this.history.length = 0;
  }

  isCompacted(version: number): boolean {
    return version < this.compacted;
  }

  /** What happened to a kind after `version`. */
  since(kind: FakeKind, version: number): readonly StoredEvent[] {
    return this.history.filter((event) => idOf(event.kind) === idOf(kind) && event.version > version);
  }

  listen(listener: (event: StoredEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  create(kind: FakeKind, namespace: string, body: Json): KubeObject {
    const metadata = recordAt(body, 'metadata');
    const generateName = textAt(metadata, 'generateName');
    const name = textAt(metadata, 'name') ?? (generateName && generateName + this.random.uuid().slice(-5));
    if (name === undefined) throw new Refusal(422, 'Invalid', 'name or generateName is required');
    if (metadata['resourceVersion'] !== undefined)
      throw new Refusal(400, 'BadRequest', 'resourceVersion should not be set on objects to be created');
    const key = { namespace, name };
    if (this.get(kind, key) !== undefined)
      throw new Refusal(409, 'AlreadyExists', `${idOf(kind)} "${name}" already exists`);
    const { status: _, ...withoutStatus } = body;
    const object = this.admit(kind, undefined, {
      ...(kind.status === false ? body : withoutStatus),
      metadata: {
        ...without(metadata, [...SERVER_FIELDS, 'generateName']),
        name,
        ...(namespace === '' ? {} : { namespace }),
        uid: this.random.uuid(),
        creationTimestamp: formatTimestamp(this.clock.now()),
        generation: 1,
      },
    });
    return this.commit(kind, 'ADDED', object, undefined);
  }

  /** PUT. */
  replace(kind: FakeKind, key: ObjectKey, body: Json, subresource?: 'status'): KubeObject {
    const known = this.require(kind, key);
    return this.write(kind, known, body, subresource);
  }

  /** PATCH with a merge patch. */
  mergePatch(kind: FakeKind, key: ObjectKey, patch: unknown, subresource?: 'status'): KubeObject {
    const known = this.require(kind, key);
    const patched = applyMergePatch(known, patch);
    if (!isRecord(patch) || !isRecord(patched)) throw new Refusal(400, 'BadRequest', 'the patch is no object');
    return this.write(kind, known, patched, subresource);
  }

  /** The object while finalizers hold it; `undefined` when it is gone. */
  delete(kind: FakeKind, key: ObjectKey, preconditions: DeleteRequest = {}): KubeObject | undefined {
    const known = this.require(kind, key);
    const { metadata } = known;
    for (const field of ['uid', 'resourceVersion'] as const)
      if (preconditions[field] !== undefined && preconditions[field] !== metadata[field])
        throw conflict(
          kind,
          key,
          `Precondition failed: ${field === 'uid' ? 'UID' : 'ResourceVersion'} in precondition: ${preconditions[field]}, ` +
            `${field === 'uid' ? 'UID' : 'ResourceVersion'} in object meta: ${metadata[field]}`,
        );
    if ((metadata.finalizers ?? []).length === 0) {
      this.removeForGood(kind, known);
      return undefined;
    }
    if (metadata.deletionTimestamp !== undefined) return known;
    const deletionTimestamp = formatTimestamp(this.clock.now());
    const generation = (metadata.generation ?? 0) + 1;
    const leaving = { ...metadata, generation, deletionTimestamp, deletionGracePeriodSeconds: 0 };
    return this.commit(kind, 'MODIFIED', { ...known, metadata: leaving }, known);
  }

  private write(kind: FakeKind, known: KubeObject, body: Json, subresource: 'status' | undefined): KubeObject {
    const key = keyOf(known);
    const asked = recordAt(body, 'metadata');
    const version = textAt(asked, 'resourceVersion');
    if (version !== undefined && version !== known.metadata.resourceVersion)
      throw conflict(
        kind,
        key,
        'the object has been modified; please apply your changes to the latest version and try again',
      );
    for (const field of ['uid', 'deletionTimestamp'] as const) {
      const value = textAt(asked, field);
      if (value !== undefined && value !== known.metadata[field])
        throw invalid(kind, key, `metadata.${field}: Invalid value: "${value}": field is immutable`);
    }
    const object = this.admit(kind, known, this.combine(kind, known, body, subresource));
    if (jsonEqual(object, known)) return known;
    refuseNewFinalizers(kind, known, object);
    if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0) {
      return this.removeForGood(kind, object, known);
    }
    return this.commit(kind, 'MODIFIED', object, known);
  }

  /** What of the body counts: the main resource keeps status, the subresource keeps everything else. */
  private combine(kind: FakeKind, known: KubeObject, body: Json, subresource: 'status' | undefined): Json {
    if (subresource === 'status') return withField(known, 'status', body['status']);
    const keep = Object.fromEntries(SERVER_FIELDS.map((field) => [field, Reflect.get(known.metadata, field)]));
    const { name, namespace, resourceVersion } = known.metadata;
    const metadata = {
      ...tidy(recordAt(body, 'metadata')),
      ...keep,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      resourceVersion,
    };
    const next = { ...body, metadata };
    const whole = kind.status === false ? next : withField(next, 'status', known['status']);
    const hasChanged = !jsonEqual(withField(whole, 'metadata', undefined), withField(known, 'metadata', undefined));
    const generation = (known.metadata.generation ?? 0) + 1;
    return hasChanged ? { ...whole, metadata: { ...metadata, generation } } : whole;
  }

  private admit(kind: FakeKind, known: KubeObject | undefined, body: Json): KubeObject {
    const apiVersion = `${kind.group === '' ? '' : `${kind.group}/`}${kind.versions[0] ?? ''}`;
    // As JSON: fields that are undefined are gone, and nothing is shared with the caller.
    const copy: unknown = JSON.parse(JSON.stringify({ ...body, apiVersion, kind: kind.kind }));
    const object = isRecord(copy) ? (kind.prepare?.(copy) ?? copy) : {};
    const why = kind.refuse?.(object, known);
    const name = String(recordAt(object, 'metadata')['name']);
    if (why !== undefined) throw invalid(kind, { namespace: '', name }, why);
    const metadata = { resourceVersion: '', ...recordAt(object, 'metadata') };
    const admitted = { ...object, metadata };
    if (!isKubeObject(admitted)) throw new Refusal(400, 'BadRequest', 'metadata is not readable');
    return admitted;
  }

  private require(kind: FakeKind, key: ObjectKey): KubeObject {
    const known = this.get(kind, key);
    if (known === undefined) throw new Refusal(404, 'NotFound', `${idOf(kind)} "${key.name}" not found`);
    return known;
  }

  private removeForGood(kind: FakeKind, object: KubeObject, previous = object): KubeObject {
    return this.commit(kind, 'DELETED', object, previous);
  }

  private commit(
    kind: FakeKind,
    type: StoredEvent['type'],
    object: KubeObject,
    previous: KubeObject | undefined,
  ): KubeObject {
    this.version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.version) } };
    const objects = this.objects.get(idOf(kind)) ?? new Map<string, KubeObject>();
    this.objects.set(idOf(kind), objects);
    if (type === 'DELETED') objects.delete(keyText(keyOf(stored)));
    else objects.set(keyText(keyOf(stored)), stored);
    const event = { version: this.version, kind, type, object: stored, previous };
    this.history.push(event);
    for (const listener of this.listeners) listener(event);
    return stored;
  }
}

/** `widgets.example.org` */
export const idOf = (kind: FakeKind): string => (kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`);

const conflict = (kind: FakeKind, { name }: ObjectKey, why: string): Refusal =>
  new Refusal(409, 'Conflict', `Operation cannot be fulfilled on ${idOf(kind)} "${name}": ${why}`);

const invalid = (kind: FakeKind, { name }: ObjectKey, why: string): Refusal =>
  new Refusal(422, 'Invalid', `${kind.kind}${kind.group === '' ? '' : `.${kind.group}`} "${name}" is invalid: ${why}`);

function refuseNewFinalizers(kind: FakeKind, known: KubeObject, object: KubeObject): void {
  if (known.metadata.deletionTimestamp === undefined) return;
  const added = (object.metadata.finalizers ?? []).filter((one) => !known.metadata.finalizers?.includes(one));
  if (added.length === 0) return;
  const names = added.map((one) => JSON.stringify(one)).join(', ');
  throw invalid(
    kind,
    keyOf(known),
    `metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, ` +
      `found new finalizers []string{${names}}`,
  );
}

function withField(value: Json, field: string, content: unknown): Json {
  const { [field]: _, ...rest } = value;
  return content === undefined ? rest : { ...rest, [field]: content };
}

const without = (value: Json, fields: readonly string[]): Json =>
  Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)));

/** Empty lists and maps of metadata are not stored. */
const tidy = (metadata: Json): Json =>
  Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => {
      if (Array.isArray(value)) return value.length > 0;
      return !isRecord(value) || Object.keys(value).length > 0;
    }),
  );

function isKubeObject(value: Json): value is Json & KubeObject {
  const metadata = recordAt(value, 'metadata');
  return typeof value['kind'] === 'string' && textAt(metadata, 'name') !== undefined && 'uid' in metadata;
}
