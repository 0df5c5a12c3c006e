import { randomUUID } from 'node:crypto';
import { eventually } from '../../support/eventually.ts';
import { ApiError, type ApiClient } from '../clients/api.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1';
const NAMESPACE = 'default';
/**
 * An invented API group, which this module uses in the rules of roles, in the names of webhooks, and in labels. The API
 * server serves no kind of this group.
 */
const GROUP = 'probe.example.org';
/** The URL of a webhook. No server listens at the URL, so every call of the webhook fails. */
const UNREACHABLE = 'https://127.0.0.1:1/';

interface ProbeObject {
  readonly metadata: { readonly name: string };
  readonly [field: string]: unknown;
}

interface Probe {
  /**
   * The objects that this module creates to see whether the API server enforces them. The path before each object is
   * the URL path of its collection.
   */
  readonly objects: readonly (readonly [path: string, object: ProbeObject])[];
  /** Whether the API server enforces the objects in `objects`. */
  readonly isEffective: (api: ApiClient) => Promise<boolean>;
}

/**
 * Waits until the API server enforces all RBAC objects and webhook configurations that were written to etcd before this
 * call. The API server has one cache per kind, and each cache receives the changes of its kind in order. So this
 * function creates one more object of each kind, and waits until the API server enforces it. This function then deletes
 * these objects, and waits until the API server no longer enforces them.
 */
export async function waitForAccessCaches(api: ApiClient): Promise<void> {
  // The objects that this function creates get new names in each call, because a cache could still contain an object of
  // an earlier call.
  const id = randomUUID();
  const probes = [clusterRoleProbe(id), roleProbe(id), webhookProbe('mutating', id), webhookProbe('validating', id)];
  await Promise.all(probes.map((probe) => runProbe(api, probe)));
}

async function runProbe(api: ApiClient, { objects, isEffective }: Probe): Promise<void> {
  for (const [path, object] of objects) await api.post(path, object);
  await eventually(() => isEffective(api), { what: `the effect of ${objects[0]?.[0]}` });
  for (const [path, { metadata }] of objects) await api.delete(`${path}/${metadata.name}`);
  await eventually(async () => !(await isEffective(api)), {
    what: `the end of the effect of ${objects[0]?.[0]}`,
  });
}

function clusterRoleProbe(id: string): Probe {
  return {
    objects: [
      [`${RBAC}/clusterroles`, roleObject(id)],
      [`${RBAC}/clusterrolebindings`, bindingObject(id, 'ClusterRole')],
    ],
    isEffective: (api) => isGranted(api, id),
  };
}

function roleProbe(id: string): Probe {
  const name = `${id}-in-namespace`;
  return {
    objects: [
      [`${RBAC}/namespaces/${NAMESPACE}/roles`, roleObject(name)],
      [`${RBAC}/namespaces/${NAMESPACE}/rolebindings`, bindingObject(name, 'Role')],
    ],
    isEffective: (api) => isGranted(api, name, NAMESPACE),
  };
}

const roleObject = (name: string) => ({
  metadata: { name },
  rules: [{ apiGroups: [GROUP], resources: ['probes'], verbs: ['get'] }],
});

/** A binding of the Role or ClusterRole `name` to the user `name`. */
const bindingObject = (name: string, kind: 'ClusterRole' | 'Role') => ({
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
});

async function isGranted(api: ApiClient, user: string, namespace?: string): Promise<boolean> {
  const resourceAttributes = { verb: 'get', group: GROUP, resource: 'probes', ...(namespace && { namespace }) };
  const { status } = await api.post<{ readonly status: { readonly allowed: boolean } }>(
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    { spec: { user, resourceAttributes } },
  );
  return status.allowed;
}

/**
 * Returns a webhook configuration, and a check whether the API server enforces it. The webhook fails for each ConfigMap
 * with a certain label, so that the API server then refuses these ConfigMaps. Only this webhook configuration uses the
 * label.
 */
function webhookProbe(phase: 'mutating' | 'validating', id: string): Probe {
  const labels = { [`${GROUP}/${phase}`]: id };
  const webhook = {
    name: GROUP,
    clientConfig: { url: UNREACHABLE },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }],
    objectSelector: { matchLabels: labels },
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  return {
    objects: [[`${WEBHOOKS}/${phase}webhookconfigurations`, { metadata: { name: id }, webhooks: [webhook] }]],
    isEffective: (api) => isRefused(api, { name: id, labels }),
  };
}

/**
 * Whether the API server refuses a ConfigMap because its call of this module's unreachable webhook fails. The request
 * is a dry run, so the ConfigMap is not stored.
 */
async function isRefused(api: ApiClient, metadata: object): Promise<boolean> {
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
  const response = await api.request('POST', path, { query: { dryRun: 'All' }, body: { metadata } });
  if (response.status === 201) return false;
  const error = new ApiError(`POST ${path}`, response);
  if (error.message.includes(`failed calling webhook "${GROUP}"`)) return true;
  throw error;
}
