import type { ObjectMeta } from '../../../api/meta.ts';

type Marks = Pick<ObjectMeta, 'annotations' | 'labels'>;

/**
 * Whether Argo CD tracks the object, by any of its tracking methods (`application.resourceTrackingMethod`). Such an
 * object gets no owner reference, because Argo CD never prunes an object that has an owner reference.
 *
 * Label tracking is the default before Argo CD 3.0, and uses a label that Helm charts set too. So this label alone does
 * not count on an object with the label or the annotations of a Helm release.
 */
export function isTrackedByArgoCD({ annotations = {}, labels = {} }: Marks): boolean {
  if (annotations['argocd.argoproj.io/tracking-id'] !== undefined) return true;
  if (labels['argocd.argoproj.io/instance'] !== undefined) return true;
  return labels['app.kubernetes.io/instance'] !== undefined && !isOfHelmRelease({ annotations, labels });
}

const isOfHelmRelease = ({ annotations = {}, labels = {} }: Marks): boolean =>
  labels['app.kubernetes.io/managed-by'] === 'Helm' ||
  Object.keys(annotations).some((key) => key.startsWith('meta.helm.sh/'));
