import type { KubeObject } from 'controller-runtime/client';
import { fieldAt, isRecord } from 'controller-runtime/json';
import { RECORD_ANNOTATION, RETAIN_ANNOTATION } from '../../api/v1beta2/index.ts';

/** An AWSFargateProfile that was written under another provider's CRD, and the fields that it lost. */
export interface Loss {
  readonly object: KubeObject;
  /** Paths such as `spec.roleARN`. */
  readonly fields: readonly string[];
}

/**
 * Remembers in memory which fields each AWSFargateProfile had before another provider's CRD was installed. After a
 * restart of the manager, only an object's annotations show what it had.
 */
export class KnownFields {
  /** Paths by the object's UID. */
  private fields = new Map<string, ReadonlySet<string>>();

  replace(objects: readonly KubeObject[]): void {
    this.fields = new Map(objects.map((object) => [object.metadata.uid, fieldsOf(object)]));
  }

  /** Adds the fields of cached objects, which may still contain fields that another provider's CRD now hides. */
  extend(objects: readonly KubeObject[]): void {
    for (const object of objects) {
      const { uid } = object.metadata;
      this.fields.set(uid, new Set([...(this.fields.get(uid) ?? []), ...fieldsOf(object)]));
    }
  }

  /** Returns the fields in `dropped` that each object had before and no longer has. */
  lossesOf(objects: readonly KubeObject[], dropped: readonly string[]): readonly Loss[] {
    return objects.flatMap((object) => {
      const before = new Set([...(this.fields.get(object.metadata.uid) ?? []), ...fieldsInAnnotations(object)]);
      const present = fieldsOf(object);
      const fields = dropped.filter((field) => before.has(field) && !present.has(field));
      return fields.length === 0 ? [] : [{ object, fields }];
    });
  }
}

/** Returns the paths of the fields directly in spec and status, such as `spec.roleARN`. */
const fieldsOf = (object: KubeObject): ReadonlySet<string> =>
  new Set(
    ['spec', 'status'].flatMap((part) => {
      const value = fieldAt(object, part);
      return isRecord(value) ? Object.keys(value).map((name) => `${part}.${name}`) : [];
    }),
  );

/** Part of the record annotation of an object that has nothing in AWS. */
const NOTHING_IN_AWS = '"in":"nowhere"';

/** Returns the fields that are repeated in annotations, which the API server never drops. */
function fieldsInAnnotations({ metadata }: KubeObject): readonly string[] {
  const { [RETAIN_ANNOTATION]: retain, [RECORD_ANNOTATION]: record = NOTHING_IN_AWS } = metadata.annotations ?? {};
  return [
    ...(retain === undefined ? [] : ['spec.deletionPolicy']),
    ...(record.includes(NOTHING_IN_AWS) ? [] : ['status.account', 'status.region', 'status.eksClusterName']),
  ];
}
