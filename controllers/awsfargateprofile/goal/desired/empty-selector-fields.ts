import { withEmptyFields } from '../../../../api/external/index.ts';
import { isRecord } from '../../../../api/record.ts';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';

/**
 * Returns the fields of spec.selectors that have no value in the manifest which `kubectl apply` has recorded in its
 * annotation. The API server refuses a label without a value when it sees the label. But a client-side apply over an
 * existing object drops it before.
 */
export const findEmptySelectorFields = ({ metadata, spec }: AWSFargateProfile): readonly string[] =>
  withEmptyFields({ metadata }, ['spec', 'selectors'], spec.selectors ?? []).flatMap((selector, index) =>
    emptyFields(selector, `spec.selectors[${index}]`),
  );

const emptyFields = (value: unknown, path: string): readonly string[] => {
  if (value === null) return [path];
  return isRecord(value) ? Object.entries(value).flatMap(([key, field]) => emptyFields(field, `${path}.${key}`)) : [];
};
