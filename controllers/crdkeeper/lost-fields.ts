import type { KubeObject } from 'controller-runtime/client';
import { fieldAt, isRecord } from 'controller-runtime/json';
import { RECORD_ANNOTATION, RETAIN_ANNOTATION } from '../../api/v1beta2/index.ts';

/** An AWSFargateProfile that was written under the CRD of another provider, and the fields that it lost. */
export interface Loss {
  readonly object: KubeObject;
  /** Paths such as `spec.roleARN`. */
  readonly fields: readonly string[];
}

/**
 * Which fields each AWSFargateProfile had before another provider's CRD was installed, in memory only. After a restart
 * of the manager, only the annotations of an object tell that.
 */
export class KnownFields {
  /** For each uid of an object: the paths of its fields. */
  private fields = new Map<string, ReadonlySet<string>>();

  replace(objects: readonly KubeObject[]): void {
    this.fields = new Map(objects.map((object) => [object.metadata.uid, fieldsOf(object)]));
  }

  /** The cache may still show fields that another provider's CRD has hidden meanwhile. */
  extend(objects: readonly KubeObject[]): void {
    for (const object of objects) {
      const { uid } = object.metadata;
      this.fields.set(uid, new Set([...(this.fields.get(uid) ?? []), ...fieldsOf(object)]));
    }
  }

  /** The fields in `dropped` that each object had before and does not have any more. */
  lossesOf(objects: readonly KubeObject[], dropped: readonly string[]): readonly Loss[] {
    return objects.flatMap((object) => {
      const before = new Set([...(this.fields.get(object.metadata.uid) ?? []), ...fieldsInAnnotations(object)]);
      const present = fieldsOf(object);
      const fields = dropped.filter((field) => before.has(field) && !present.has(field));
      return fields.length === 0 ? [] : [{ object, fields }];
    });
  }
}

/** The paths of the fields directly in spec and status, such as `spec.roleARN`. */
const fieldsOf = (object: KubeObject): ReadonlySet<string> =>
  new Set(
    ['spec', 'status'].flatMap((part) => {
      const value = fieldAt(object, part);
      return isRecord(value) ? Object.keys(value).map((name) => `${part}.${name}`) : [];
    }),
  );

/** In the note of an object that has nothing in AWS. */
const NOTHING_IN_AWS = '"in":"nowhere"';

/** The API server never drops annotations. */
function fieldsInAnnotations({ metadata }: KubeObject): readonly string[] {
  const { [RETAIN_ANNOTATION]: retain, [RECORD_ANNOTATION]: note = NOTHING_IN_AWS } = metadata.annotations ?? {};
  return [
    ...(retain === undefined ? [] : ['spec.deletionPolicy']),
    ...(note.includes(NOTHING_IN_AWS) ? [] : ['status.account', 'status.region', 'status.eksClusterName']),
  ];
}
