import { fieldAt, isRecord } from '../../api/record.ts';
import { PROVISIONED_IN_ANNOTATION, RETAIN_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';

/** The value of the annotation `provisioned-in` before the first change in AWS. */
const NOWHERE = 'nowhere';

/** An AWSFargateProfile that was written under a foreign CRD, and the fields that it lost. */
export interface Loss {
  readonly object: KubeObject;
  /** Paths such as `spec.roleARN`. */
  readonly fields: readonly string[];
}

/**
 * Remembers which fields each AWSFargateProfile had before a foreign CRD was served. A restart of the manager loses
 * this memory. Then only the annotations of an object tell which fields it had.
 */
export class FieldCensus {
  /** UID of the object → paths of its fields. */
  private fields = new Map<string, ReadonlySet<string>>();

  /** Takes the objects as they are, while the CRD of this provider is served. */
  replace(objects: readonly KubeObject[]): void {
    this.fields = new Map(objects.map((object) => [object.metadata.uid, fieldsOf(object)]));
  }

  /** Adds fields of objects in the cache. The cache may still show these fields although the CRD is foreign already. */
  extend(objects: readonly KubeObject[]): void {
    for (const object of objects) {
      const { uid } = object.metadata;
      this.fields.set(uid, new Set([...(this.fields.get(uid) ?? []), ...fieldsOf(object)]));
    }
  }

  /** The fields among `dropped` that each of the objects had and does not have any more. */
  lossesOf(objects: readonly KubeObject[], dropped: readonly string[]): readonly Loss[] {
    return objects.flatMap((object) => {
      const before = new Set([...(this.fields.get(object.metadata.uid) ?? []), ...fieldsInAnnotations(object)]);
      const present = fieldsOf(object);
      const fields = dropped.filter((field) => before.has(field) && !present.has(field));
      return fields.length === 0 ? [] : [{ object, fields }];
    });
  }
}

/** The paths of the fields directly in spec and status. */
const fieldsOf = (object: KubeObject): ReadonlySet<string> =>
  new Set(
    ['spec', 'status'].flatMap((part) => {
      const value = fieldAt(object, part);
      return isRecord(value) ? Object.keys(value).map((name) => `${part}.${name}`) : [];
    }),
  );

/** The fields that the annotations of an object repeat. The API server drops no annotation. */
function fieldsInAnnotations({ metadata }: KubeObject): readonly string[] {
  const { [RETAIN_ANNOTATION]: retain, [PROVISIONED_IN_ANNOTATION]: place = NOWHERE } = metadata.annotations ?? {};
  return [
    ...(retain === undefined ? [] : ['spec.deletionPolicy']),
    ...(place === NOWHERE ? [] : ['status.account', 'status.region', 'status.eksClusterName']),
  ];
}
