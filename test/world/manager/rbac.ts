import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import type { ApiClient } from '../../envtest/clients/api.ts';
import { MANAGER_USER } from '../../envtest/control-plane/pool.ts';
import { eventually } from '../../support/eventually.ts';
import { type Manifest, pathOfManifest } from '../manifests.ts';

/** The directory with the manifests of the manager's namespace, service account, and RBAC permissions. */
export const RBAC_DIRECTORY = fileURLToPath(new URL('../../../config/rbac', import.meta.url));

/**
 * One permission from the ClusterRole of the manager, and one from its Role. When the API server grants both, all
 * applied RBAC objects are in force.
 */
const EXAMPLES = [
  { verb: 'list', group: 'infrastructure.cluster.x-k8s.io', resource: 'awsfargateprofiles' },
  { verb: 'get', group: 'coordination.k8s.io', resource: 'leases', namespace: 'capaf-system' },
];

/**
 * Applies config/rbac, so that the service account of the manager has the permissions of a real installation. Resolves
 * when the API server grants them.
 */
export async function applyRbac(api: ApiClient): Promise<void> {
  for (const manifest of readManifests()) await api.apply(pathOfManifest(manifest), manifest);
  // The API server enforces changed roles and role bindings only some time after it has accepted them.
  for (const resourceAttributes of EXAMPLES)
    await eventually(() => isGranted(api, resourceAttributes), {
      what: `the permission to ${resourceAttributes.verb}`,
    });
}

function readManifests(): readonly Manifest[] {
  const read = (name: string): string => readFileSync(`${RBAC_DIRECTORY}/${name}`, 'utf8');
  const { resources } = parse(read('kustomization.yaml')) as { readonly resources: readonly string[] };
  return resources.flatMap((name) => parseAllDocuments(read(name)).map((document) => document.toJS() as Manifest));
}

async function isGranted(api: ApiClient, resourceAttributes: object): Promise<boolean> {
  const { name: user, groups } = MANAGER_USER;
  const { status } = await api.post<{ readonly status: { readonly allowed: boolean } }>(
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, groups, resourceAttributes },
    },
  );
  return status.allowed;
}
