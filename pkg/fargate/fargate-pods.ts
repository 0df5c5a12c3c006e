import { fieldAt, textAt } from 'controller-runtime/json';
import type { ObjectMeta } from 'controller-runtime/schema';

/** On a pod that EKS has admitted, EKS has set the label; on any other, a user asks for a profile with it. */
export const PROFILE_LABEL = 'eks.amazonaws.com/fargate-profile';

/** EKS cannot label the pods of a profile with another name, for example one of 64 characters. */
export const isLabelValue = (profile: string): boolean => /^[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/.test(profile);

/** The controller that creates the pod again. A Deployment puts its hash into the name of its ReplicaSet. */
export function ownerOf({ metadata: { labels = {}, ownerReferences = [] } }: { readonly metadata: ObjectMeta }) {
  const reference = ownerReferences.find(({ controller }) => controller === true);
  if (reference === undefined) return null;
  const { kind, name } = reference;
  const hash = `-${labels['pod-template-hash']}`;
  const isOfDeployment = kind === 'ReplicaSet' && name.endsWith(hash);
  return isOfDeployment ? { kind: 'Deployment', name: name.slice(0, -hash.length) } : { kind, name };
}

/** What Fargate says about a pod that it has not scheduled; `undefined`: it has, or has not looked yet. */
export function refusalOf(status: unknown): string | undefined {
  const conditions = fieldAt(status, 'conditions');
  const unscheduled: unknown = (Array.isArray(conditions) ? conditions : []).find(
    (condition) => textAt(condition, 'type') === 'PodScheduled' && textAt(condition, 'status') === 'False',
  );
  return unscheduled === undefined || textAt(status, 'phase') !== 'Pending'
    ? undefined
    : (textAt(unscheduled, 'message') ?? textAt(unscheduled, 'reason') ?? '');
}

/**
 * By the minor version, because EKS upgrades the patches of a control plane by itself. A version that is not known is not
 * older.
 */
export const isOlder = (version: string | undefined, than: string | undefined): boolean =>
  minorOf(version) < minorOf(than);

const minorOf = (version = ''): number => Number(/^v1\.(\d{1,4})/.exec(version)?.[1]);
