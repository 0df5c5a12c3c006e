import type { KubeObject } from '../envtest/api.ts';
import { CAPA_FINALIZER } from '../world/capa.ts';
import { GUARD } from '../world/cluster-teardown.ts';
import { FINALIZER } from '../world/from-capa.ts';

/** Whose a finalizer is, in words. */
const OWNERS: Readonly<Record<string, string>> = {
  [GUARD]: 'this provider',
  [FINALIZER]: 'this provider',
  [CAPA_FINALIZER]: 'the AWS provider',
  'cluster.cluster.x-k8s.io': 'Cluster API',
};

const ownersOf = (finalizers: readonly string[]): string =>
  finalizers.map((each) => OWNERS[each] ?? each).join(' and ');

/** What has happened to an object from one version to the next, a sentence each; `after` absent: it is gone. */
export function happeningsOf(before: KubeObject | undefined, after: KubeObject | undefined): readonly string[] {
  if (after === undefined) return before === undefined ? [] : ['is gone'];
  const { deletionTimestamp, finalizers = [] } = after.metadata;
  const isNew = before?.metadata.deletionTimestamp === undefined && deletionTimestamp !== undefined;
  const lost = (before?.metadata.finalizers ?? []).filter((each) => !finalizers.includes(each));
  const type = deletionTimestamp === undefined ? 'Ready' : 'Deleting';
  const words = saidOf(after, type);
  return [
    ...(isNew ? [`is being deleted${finalizers.length === 0 ? '' : `; kept for now by ${ownersOf(finalizers)}`}`] : []),
    ...(deletionTimestamp !== undefined && lost.length > 0 ? [`is no longer kept by ${ownersOf(lost)}`] : []),
    ...(words === undefined || words === (before && saidOf(before, type)) ? [] : [`says: ${words}`]),
  ];
}

/** What a condition says in words; `undefined` where it says nothing. */
function saidOf({ status }: KubeObject, type: string): string | undefined {
  const found = status?.conditions?.find((condition) => condition.type === type);
  if (found === undefined || (type === 'Deleting' && found.status !== 'True')) return undefined;
  return found.message === undefined || found.message === '' ? undefined : found.message;
}
