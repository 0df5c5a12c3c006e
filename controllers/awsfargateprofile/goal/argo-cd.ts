import type { ObjectMeta } from '../../../api/meta.ts';

type Marks = Pick<ObjectMeta, 'annotations' | 'labels'>;

/**
 * Whether Argo CD tracks the object, by any of its tracking methods (`application.resourceTrackingMethod`). The
 * controller sets no owner reference on such an object, because Argo CD never prunes an object that has one.
 *
 * Label tracking is the default before Argo CD 3.0, and uses the label `app.kubernetes.io/instance`, which Helm charts
 * set too. So on an object with Helm's own label or annotations, the label `app.kubernetes.io/instance` does not show
 * that Argo CD tracks the object.
 */
export function isTrackedByArgoCD({ annotations = {}, labels = {} }: Marks): boolean {
  if (annotations['argocd.argoproj.io/tracking-id'] !== undefined) return true;
  if (labels['argocd.argoproj.io/instance'] !== undefined) return true;
  return labels['app.kubernetes.io/instance'] !== undefined && !isOfHelmRelease({ annotations, labels });
}

const isOfHelmRelease = ({ annotations = {}, labels = {} }: Marks): boolean =>
  labels['app.kubernetes.io/managed-by'] === 'Helm' ||
  Object.keys(annotations).some((key) => key.startsWith('meta.helm.sh/'));
