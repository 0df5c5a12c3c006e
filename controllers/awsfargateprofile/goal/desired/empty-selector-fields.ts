import { withEmptyFields } from '../../../../api/external/index.ts';
import { isRecord } from '../../../../api/record.ts';
import type { AWSFargateProfile } from '../../../../api/v1beta2/index.ts';

/**
 * The API server refuses a label without a value when it sees it, but a client-side apply over an existing object drops
 * the label before. So the annotation of `kubectl apply` is read.
 */
export const findEmptySelectorFields = ({ metadata, spec }: AWSFargateProfile): readonly string[] =>
  withEmptyFields({ metadata }, ['spec', 'selectors'], spec.selectors ?? []).flatMap((selector, index) =>
    emptyFields(selector, `spec.selectors[${index}]`),
  );

const emptyFields = (value: unknown, path: string): readonly string[] => {
  if (value === null) return [path];
  return isRecord(value) ? Object.entries(value).flatMap(([key, field]) => emptyFields(field, `${path}.${key}`)) : [];
};
