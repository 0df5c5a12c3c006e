import { fieldAt, isRecord } from '../../api/record.ts';
import { PROVISIONED_IN_ANNOTATION, RETAIN_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';

/** The value of the annotation `provisioned-in` while nothing was created in AWS for the object. */
const NOWHERE = 'nowhere';

/** An AWSFargateProfile that was written under the CRD of another provider, and the fields that it lost. */
export interface Loss {
  readonly object: KubeObject;
  /** The paths of the lost fields, such as `spec.roleARN`. */
  readonly fields: readonly string[];
}

/**
 * Records which fields each AWSFargateProfile had before the CRD of another provider was installed. The record is in
 * memory only. After a restart of the manager, only the annotations of an object tell which fields it had.
 */
export class KnownFields {
  /** For each uid of an object: the paths of its fields. */
  private fields = new Map<string, ReadonlySet<string>>();

  /** Records the fields of the objects, while the CRD of this provider is installed. */
  replace(objects: readonly KubeObject[]): void {
    this.fields = new Map(objects.map((object) => [object.metadata.uid, fieldsOf(object)]));
  }

  /**
   * Adds the fields of cached objects to the recorded fields. The cache may still show fields that the CRD of another
   * provider has hidden meanwhile.
   */
  extend(objects: readonly KubeObject[]): void {
    for (const object of objects) {
      const { uid } = object.metadata;
      this.fields.set(uid, new Set([...(this.fields.get(uid) ?? []), ...fieldsOf(object)]));
    }
  }

  /** Returns for each object the fields in `dropped` that the object had before and does not have any more. */
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

/** Returns the paths of the fields that annotations of an object repeat. The API server never drops annotations. */
function fieldsInAnnotations({ metadata }: KubeObject): readonly string[] {
  const { [RETAIN_ANNOTATION]: retain, [PROVISIONED_IN_ANNOTATION]: place = NOWHERE } = metadata.annotations ?? {};
  return [
    ...(retain === undefined ? [] : ['spec.deletionPolicy']),
    ...(place === NOWHERE ? [] : ['status.account', 'status.region', 'status.eksClusterName']),
  ];
}
