import { expect } from 'chai';
import { isTrackedByArgoCD } from './argo-cd.ts';

const instance = { 'app.kubernetes.io/instance': 'shop' };

describe('isTrackedByArgoCD', () => {
  const tracked: Readonly<Record<string, Parameters<typeof isTrackedByArgoCD>[0]>> = {
    'the annotation of Argo CD': { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:…' } },
    'the label of Argo CD': { labels: { 'argocd.argoproj.io/instance': 'shop' } },
    'the label of label tracking': { labels: instance },
    'the label of label tracking, and managed by something other than Helm': {
      labels: { ...instance, 'app.kubernetes.io/managed-by': 'kustomize' },
    },
    'the annotation of Argo CD in an object of a Helm release': {
      annotations: { 'argocd.argoproj.io/tracking-id': 'shop:…', 'meta.helm.sh/release-name': 'shop' },
    },
  };
  for (const [what, metadata] of Object.entries(tracked))
    it(`recognizes ${what}`, () => expect(isTrackedByArgoCD(metadata)).to.equal(true));

  const untracked: Readonly<Record<string, Parameters<typeof isTrackedByArgoCD>[0]>> = {
    'an object without labels': {},
    'an object with other labels of Kubernetes': { labels: { 'app.kubernetes.io/name': 'shop' } },
    'an object of a Helm release, by its label': { labels: { ...instance, 'app.kubernetes.io/managed-by': 'Helm' } },
    'an object of a Helm release, by its annotation': {
      labels: instance,
      annotations: { 'meta.helm.sh/release-name': 'shop', 'meta.helm.sh/release-namespace': 'default' },
    },
  };
  for (const [what, metadata] of Object.entries(untracked))
    it(`does not count ${what}`, () => expect(isTrackedByArgoCD(metadata)).to.equal(false));
});
