import { isRecord, textAt } from '../json/record.ts';
import type { Clock } from '../env/clock.ts';
import type { Random } from '../env/random.ts';
import { formatTimestamp } from '../env/timestamp.ts';
import { applyMergePatch, jsonEqual } from '../json/patches.ts';
import { keyOf, keyText } from '../client/object-key.ts';
import { resourceName } from '../client/requests/paths.ts';
import type { KubeObject, ObjectKey } from '../client/types.ts';

/** A kind that FakeApiServer serves. */
export interface FakeKind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  /** The versions under which the kind is served. The versions of an object differ only in apiVersion. */
  readonly versions: readonly string[];
  /** Whether objects of the kind have a namespace; undefined: true. */
  readonly namespaced?: boolean;
  /** Whether status is a subresource of the kind; undefined: true. */
  readonly status?: boolean;
  /** Sets the defaults of the kind's schema at every write. */
  readonly prepare?: (object: FakeJson) => FakeJson;
}

export type FakeJson = Readonly<Record<string, unknown>>;

/** An error with the fields of the Status in the response. */
export class FakeStorageError extends Error {
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
  /** The object before the change, which shows whether the object enters or leaves the selection of a watch. */
  readonly previous: KubeObject | undefined;
}

export const recordAt = (value: FakeJson, field: string): FakeJson => {
  const found = value[field];
  return isRecord(found) ? found : {};
};

/** Just below a power of ten, so that a test fails when code compares resourceVersions as text. */
const FIRST_VERSION = 95;

/** Fields that only the API server writes. */
const SERVER_FIELDS = ['uid', 'creationTimestamp', 'generation', 'deletionTimestamp', 'deletionGracePeriodSeconds'];

/** Stores objects like etcd and kube-apiserver's generic registry. Stored objects are never changed in place. */
export class FakeStorage {
  private readonly clock: Clock;
  private readonly random: Random;
  /** The objects by kind, without version, then by key. */
  private readonly objects = new Map<string, Map<string, KubeObject>>();
  private readonly history: StoredEvent[] = [];
  private readonly listeners = new Set<(event: StoredEvent) => void>();
  private version = FIRST_VERSION;
  private compacted = 0;

  constructor(clock: Clock, random: Random) {
    this.clock = clock;
    this.random = random;
  }

  get newest(): number {
    return this.version;
  }

  get(kind: FakeKind, key: ObjectKey): KubeObject | undefined {
    return this.objects.get(resourceName(kind))?.get(keyText(key));
  }

  /** Returns the objects, sorted by the text `<namespace>/<name>`. */
  list(kind: FakeKind, namespace = ''): readonly KubeObject[] {
    return [...(this.objects.get(resourceName(kind)) ?? new Map<string, KubeObject>())]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object)
      .filter(({ metadata }) => namespace === '' || metadata.namespace === namespace);
  }

  /** Deletes the history of changes: watches from older resourceVersions get 410. */
  compact(): void {
    this.compacted = this.version;
    this.history.length = 0;
  }

  isCompacted(version: number): boolean {
    return version < this.compacted;
  }

  since(kind: FakeKind, version: number): readonly StoredEvent[] {
    return this.history.filter((event) => resourceName(event.kind) === resourceName(kind) && event.version > version);
  }

  listen(listener: (event: StoredEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  create(kind: FakeKind, namespace: string, body: FakeJson): KubeObject {
    const metadata = recordAt(body, 'metadata');
    const name = textAt(metadata, 'name');
    if (name === undefined) throw new FakeStorageError(422, 'Invalid', 'name is required');
    if (metadata['resourceVersion'] !== undefined)
      throw new FakeStorageError(400, 'BadRequest', 'resourceVersion should not be set on objects to be created');
    const key = { namespace, name };
    if (this.get(kind, key) !== undefined)
      throw new FakeStorageError(409, 'AlreadyExists', `${resourceName(kind)} "${name}" already exists`);
    const { status: _, ...withoutStatus } = body;
    const object = this.admit(kind, {
      ...(kind.status === false ? body : withoutStatus),
      metadata: {
        ...without(metadata, SERVER_FIELDS),
        name,
        ...(namespace === '' ? {} : { namespace }),
        uid: this.random.uuid(),
        creationTimestamp: formatTimestamp(this.clock.now()),
        generation: 1,
      },
    });
    return this.commit(kind, 'ADDED', object, undefined);
  }

  /** Replaces an object, as a PUT does. */
  replace(kind: FakeKind, key: ObjectKey, body: FakeJson, subresource?: 'status'): KubeObject {
    return this.write(kind, this.require(kind, key), body, subresource);
  }

  mergePatch(kind: FakeKind, key: ObjectKey, patch: unknown, subresource?: 'status'): KubeObject {
    const known = this.require(kind, key);
    const patched = applyMergePatch(known, patch);
    if (!isRecord(patch) || !isRecord(patched)) throw new FakeStorageError(400, 'BadRequest', 'the patch is no object');
    return this.write(kind, known, patched, subresource);
  }

  /** Returns the object if finalizers keep it. */
  delete(kind: FakeKind, key: ObjectKey, { uid }: { readonly uid?: string | undefined } = {}): KubeObject | undefined {
    const known = this.require(kind, key);
    const { metadata } = known;
    if (uid !== undefined && uid !== metadata.uid)
      throw conflict(
        kind,
        key,
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
      );
    if ((metadata.finalizers ?? []).length === 0) {
      this.commit(kind, 'DELETED', known, known);
      return undefined;
    }
    if (metadata.deletionTimestamp !== undefined) return known;
    const deletionTimestamp = formatTimestamp(this.clock.now());
    const generation = (metadata.generation ?? 0) + 1;
    const leaving = { ...metadata, generation, deletionTimestamp, deletionGracePeriodSeconds: 0 };
    return this.commit(kind, 'MODIFIED', { ...known, metadata: leaving }, known);
  }

  private write(kind: FakeKind, known: KubeObject, body: FakeJson, subresource: 'status' | undefined): KubeObject {
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
    const object = this.admit(kind, this.combine(kind, known, body, subresource));
    if (jsonEqual(object, known)) return known;
    refuseNewFinalizers(kind, known, object);
    if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0)
      return this.commit(kind, 'DELETED', object, known);
    return this.commit(kind, 'MODIFIED', object, known);
  }

  /** Keeps the status in a write of the main resource, and everything else in a write of the status subresource. */
  private combine(kind: FakeKind, known: KubeObject, body: FakeJson, subresource: 'status' | undefined): FakeJson {
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

  private admit(kind: FakeKind, body: FakeJson): KubeObject {
    const apiVersion = apiVersionOf(kind, kind.versions[0] ?? '');
    // This drops undefined fields and copies the caller's objects.
    const copy: unknown = JSON.parse(JSON.stringify({ ...body, apiVersion, kind: kind.kind }));
    const object = isRecord(copy) ? (kind.prepare?.(copy) ?? copy) : {};
    const metadata = { resourceVersion: '', ...recordAt(object, 'metadata') };
    const admitted = { ...object, metadata };
    if (!isKubeObject(admitted)) throw new FakeStorageError(400, 'BadRequest', 'metadata is not readable');
    return admitted;
  }

  private require(kind: FakeKind, key: ObjectKey): KubeObject {
    const known = this.get(kind, key);
    if (known === undefined)
      throw new FakeStorageError(404, 'NotFound', `${resourceName(kind)} "${key.name}" not found`);
    return known;
  }

  private commit(
    kind: FakeKind,
    type: StoredEvent['type'],
    object: KubeObject,
    previous: KubeObject | undefined,
  ): KubeObject {
    this.version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.version) } };
    const objects = this.objects.get(resourceName(kind)) ?? new Map<string, KubeObject>();
    this.objects.set(resourceName(kind), objects);
    if (type === 'DELETED') objects.delete(keyText(keyOf(stored)));
    else objects.set(keyText(keyOf(stored)), stored);
    const event = { version: this.version, kind, type, object: stored, previous };
    this.history.push(event);
    for (const listener of this.listeners) listener(event);
    return stored;
  }
}

export const apiVersionOf = ({ group }: Pick<FakeKind, 'group'>, version: string): string =>
  group === '' ? version : `${group}/${version}`;

const conflict = (kind: FakeKind, { name }: ObjectKey, why: string): FakeStorageError =>
  new FakeStorageError(409, 'Conflict', `Operation cannot be fulfilled on ${resourceName(kind)} "${name}": ${why}`);

const invalid = (kind: FakeKind, { name }: ObjectKey, why: string): FakeStorageError =>
  new FakeStorageError(
    422,
    'Invalid',
    `${kind.kind}${kind.group === '' ? '' : `.${kind.group}`} "${name}" is invalid: ${why}`,
  );

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

function withField(value: FakeJson, field: string, content: unknown): FakeJson {
  const { [field]: _, ...rest } = value;
  return content === undefined ? rest : { ...rest, [field]: content };
}

const without = (value: FakeJson, fields: readonly string[]): FakeJson =>
  Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)));

/** Removes empty lists and maps from metadata, which the API server does not store. */
const tidy = (metadata: FakeJson): FakeJson =>
  Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => {
      if (Array.isArray(value)) return value.length > 0;
      return !isRecord(value) || Object.keys(value).length > 0;
    }),
  );

function isKubeObject(value: FakeJson): value is FakeJson & KubeObject {
  const metadata = recordAt(value, 'metadata');
  return typeof value['kind'] === 'string' && textAt(metadata, 'name') !== undefined && 'uid' in metadata;
}
