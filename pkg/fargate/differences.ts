import type { Selector } from '../../api/v1beta2/index.ts';
import type { FargateProfile } from '../cloud/index.ts';
import { areSelectorsEqual, describeSelectors } from './selectors.ts';
import { areSubnetsEqual } from './subnets.ts';

/** The fields of a profile that EKS cannot change. If a field is `undefined`, any value is accepted. */
interface WantedFields {
  readonly selectors: readonly Selector[] | undefined;
  readonly subnets: readonly string[] | undefined;
  readonly roleArn: string | undefined;
}

/**
 * Describes the fields that differ in EKS. `place` is where the wanted fields come from, such as `in the spec`, except
 * for those in `otherPlaces`.
 */
export function describeDifferentFields(
  found: FargateProfile,
  wanted: WantedFields,
  place: string,
  otherPlaces: Partial<Record<keyof WantedFields, string>> = {},
): readonly string[] {
  const { selectors = found.selectors, subnets = found.subnets, roleArn = found.podExecutionRoleArn } = wanted;
  const differ = (field: string, inAws: string, there: string, of: keyof WantedFields): string =>
    `${field} ${inAws} in AWS, but ${there} ${otherPlaces[of] ?? place}`;
  return [
    ...(areSelectorsEqual(selectors, found.selectors)
      ? []
      : [
          differ(
            'selectors are',
            `"${describeSelectors(found.selectors)}"`,
            `"${describeSelectors(selectors)}"`,
            'selectors',
          ),
        ]),
    ...(areSubnetsEqual(subnets, found.subnets)
      ? []
      : [differ('subnets are', found.subnets.join(', '), subnets.join(', '), 'subnets')]),
    ...(found.podExecutionRoleArn === roleArn
      ? []
      : [differ('pod execution role is', found.podExecutionRoleArn, roleArn, 'roleArn')]),
  ];
}
