import type { ObjectMeta } from '../../../api/meta.ts';

type Marks = Pick<ObjectMeta, 'annotations' | 'labels'>;

/**
 * Argo CD never prunes an object with an owner reference, so an object that Argo CD tracks gets none. Helm charts set
 * the label `app.kubernetes.io/instance`, the default of Argo CD before 3.0, too.
 */
export function isTrackedByArgoCD({ annotations = {}, labels = {} }: Marks): boolean {
  if (annotations['argocd.argoproj.io/tracking-id'] !== undefined) return true;
  if (labels['argocd.argoproj.io/instance'] !== undefined) return true;
  return labels['app.kubernetes.io/instance'] !== undefined && !isOfHelmRelease({ annotations, labels });
}

const isOfHelmRelease = ({ annotations = {}, labels = {} }: Marks): boolean =>
  labels['app.kubernetes.io/managed-by'] === 'Helm' ||
  Object.keys(annotations).some((key) => key.startsWith('meta.helm.sh/'));
