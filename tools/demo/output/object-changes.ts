import { textAt } from 'controller-runtime/json';
import { GROUP_FINALIZER } from '../../../controllers/instancegroups/decide.ts';
import type { RawObject } from '../../../test/envtest/clients/api.ts';
import { CAPA_FINALIZER } from '../../../test/world/cluster-api/capa-simulator.ts';
import { CONTROL_PLANE_FINALIZER } from '../../../test/world/cluster-api/cluster-teardown.ts';
import { FINALIZER } from '../../../test/world/aws/capa-resources.ts';

/** The owner of each finalizer, in the words that the demo prints. */
const OWNERS: Readonly<Record<string, string>> = {
  [CONTROL_PLANE_FINALIZER]: 'this provider',
  [FINALIZER]: 'this provider',
  [GROUP_FINALIZER]: 'this provider',
  [CAPA_FINALIZER]: 'the AWS provider',
  'cluster.cluster.x-k8s.io': 'Cluster API',
};

const describeOwners = (finalizers: readonly string[]): string =>
  finalizers.map((each) => OWNERS[each] ?? each).join(' and ');

/**
 * Describes the changes between two versions of an object, with one sentence for each change. `after` is undefined when
 * the object no longer exists.
 */
export function describeObjectChanges(before: RawObject | undefined, after: RawObject | undefined): readonly string[] {
  if (after === undefined) return before === undefined ? [] : ['is gone'];
  const { deletionTimestamp, finalizers = [] } = after.metadata;
  const isNewlyDeleting = before?.metadata.deletionTimestamp === undefined && deletionTimestamp !== undefined;
  const lost = (before?.metadata.finalizers ?? []).filter((each) => !finalizers.includes(each));
  const type = deletionTimestamp === undefined ? 'Ready' : 'Deleting';
  const words = conditionMessage(after, type);
  return [
    ...(isNewlyDeleting
      ? [`is being deleted${finalizers.length === 0 ? '' : `; has finalizers of ${describeOwners(finalizers)}`}`]
      : []),
    ...(deletionTimestamp !== undefined && lost.length > 0
      ? [`has lost the finalizer of ${describeOwners(lost)}`]
      : []),
    ...(stateOf(after) === undefined || stateOf(after) === (before && stateOf(before))
      ? []
      : [`has the state ${stateOf(after)}`]),
    ...(words === undefined || words === (before && conditionMessage(before, type)) ? [] : [`says: ${words}`]),
  ];
}

/** Returns the field `status.currentState` of an object. Only a keiko InstanceGroup has this field. */
const stateOf = ({ status }: RawObject): string | undefined => textAt(status, 'currentState');

/**
 * Returns the message of a condition of an object; undefined when the object lacks the condition or the message. The
 * message of the condition Deleting counts only while this condition is True.
 */
function conditionMessage({ status }: RawObject, type: string): string | undefined {
  const found = status?.conditions?.find((condition) => condition.type === type);
  if (found === undefined || (type === 'Deleting' && found.status !== 'True')) return undefined;
  return found.message === undefined || found.message === '' ? undefined : found.message;
}
