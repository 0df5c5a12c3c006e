import type { KubeObject } from '../../../pkg/kube/types.ts';

/** Returns an identity that every namespace may use, unless `spec` has another `allowedNamespaces`. */
export const identityObject = (kind: string, name: string, spec: object = {}): KubeObject => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind,
  metadata: { name, uid: `uid-of-${name}`, resourceVersion: '1', generation: 1 },
  spec: { allowedNamespaces: {}, ...spec },
});

export const namespaceObject = (name: string, labels: Readonly<Record<string, string>> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, uid: `uid-of-${name}`, resourceVersion: '1', labels },
});
