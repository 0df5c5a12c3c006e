import { fieldAt, textAt } from 'controller-runtime/json';
import type { ObjectMeta } from 'controller-runtime/schema';

/** EKS sets this label on each pod that it admits to Fargate. On other pods, users request a profile with it. */
export const PROFILE_LABEL = 'eks.amazonaws.com/fargate-profile';

/**
 * Whether the text can be the value of a label, or the name in its key. Unlike Kubernetes, it refuses the empty value.
 * EKS cannot label the pods of a profile with any other name, such as a name of 64 characters.
 */
export const isLabelValue = (text: string): boolean => /^[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/.test(text);

/**
 * Returns the object whose controller recreates the pod, or `null`. For the ReplicaSet of a Deployment, whose name ends
 * with the Deployment's hash, returns the Deployment.
 */
export function ownerOf({ metadata: { labels = {}, ownerReferences = [] } }: { readonly metadata: ObjectMeta }) {
  const reference = ownerReferences.find(({ controller }) => controller === true);
  if (reference === undefined) return null;
  const { kind, name } = reference;
  const hash = `-${labels['pod-template-hash']}`;
  const isOfDeployment = kind === 'ReplicaSet' && name.endsWith(hash);
  return isOfDeployment ? { kind: 'Deployment', name: name.slice(0, -hash.length) } : { kind, name };
}

/** Returns Fargate's message about a pod that it cannot schedule, or `undefined` if it can or has not tried yet. */
export function refusalOf(status: unknown): string | undefined {
  const conditions = fieldAt(status, 'conditions');
  const unscheduled: unknown = (Array.isArray(conditions) ? conditions : []).find(
    (condition) => textAt(condition, 'type') === 'PodScheduled' && textAt(condition, 'status') === 'False',
  );
  return unscheduled === undefined || textAt(status, 'phase') !== 'Pending'
    ? undefined
    : (textAt(unscheduled, 'message') ?? textAt(unscheduled, 'reason') ?? '');
}

/** Compares minor versions, because EKS installs patch versions on its own. An unknown version is not older. */
export const isOlder = (version: string | undefined, than: string | undefined): boolean =>
  minorOf(version) < minorOf(than);

const minorOf = (version = ''): number => Number(/^v1\.(\d{1,4})/.exec(version)?.[1]);
