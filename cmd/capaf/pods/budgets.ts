import * as E from 'fp-ts/lib/Either.js';
import type { KubeObject } from 'controller-runtime/client';
import { fieldAt, listAt, numberAt } from 'controller-runtime/json';
import { decode } from 'controller-runtime/schema';
import { LabelSelector } from '../../../api/external/index.ts';
import { isSelected } from '../../../controllers/identities/allowed-namespaces.ts';

/** Whether the Eviction API would now allow an eviction, and the PodDisruptionBudgets that select the pod. */
export interface Eviction {
  readonly allowed: boolean;
  readonly budgets: readonly string[];
}

interface Budget {
  readonly object: KubeObject;
  readonly selector: LabelSelector;
}

/** An empty selector selects each pod of the namespace, an absent selector none. */
export const toBudgets = (objects: readonly KubeObject[]): readonly Budget[] =>
  objects.flatMap((object) => {
    const selector = decode(LabelSelector, fieldAt(object['spec'], 'selector'));
    return E.isRight(selector) ? [{ object, selector: selector.right }] : [];
  });

/**
 * Decides as the Eviction API does: it ignores budgets for a pod that does not run or is being deleted, and refuses a
 * pod that several budgets select.
 * https://github.com/kubernetes/kubernetes/blob/master/pkg/registry/core/pod/storage/eviction.go
 */
export function evictionOf(pod: KubeObject, budgets: readonly Budget[]): Eviction {
  const selecting = budgets.filter((budget) => doesSelect(budget, pod)).map(({ object }) => object);
  const isFree = fieldAt(pod['status'], 'phase') !== 'Running' || pod.metadata.deletionTimestamp !== undefined;
  const [budget] = selecting;
  return {
    allowed: isFree || budget === undefined || (selecting.length === 1 && doesAllow(budget, pod)),
    budgets: selecting.map(({ metadata }) => metadata.name),
  };
}

const doesSelect = ({ object, selector }: Budget, { metadata: { namespace, labels = {} } }: KubeObject): boolean =>
  object.metadata.namespace === namespace && isSelected(selector, labels);

function doesAllow({ spec, status }: KubeObject, pod: KubeObject): boolean {
  const count = (field: string): number => numberAt(status, field) ?? 0;
  if (count('disruptionsAllowed') > 0) return true;
  const isReady = listAt(pod['status'], 'conditions').some(
    (condition) => fieldAt(condition, 'type') === 'Ready' && fieldAt(condition, 'status') === 'True',
  );
  if (isReady) return false;
  const isHealthy = count('desiredHealthy') > 0 && count('currentHealthy') >= count('desiredHealthy');
  return isHealthy || fieldAt(spec, 'unhealthyPodEvictionPolicy') === 'AlwaysAllow';
}
