import * as E from 'fp-ts/lib/Either.js';
import { Store, TypedStore } from 'controller-runtime/cache';
import {
  keyText,
  type KubeClient,
  type KubeObject,
  type ObjectKey,
  type Resource,
  resourceName,
} from 'controller-runtime/client';
import { LEASES, leaseSpecOf } from 'controller-runtime/election';
import { fieldAt } from 'controller-runtime/json';
import * as external from '../../../api/external/index.ts';
import * as api from '../../../api/v1beta2/index.ts';
import { observe } from '../../../controllers/crdkeeper/parts.ts';
import { askWebhooks } from '../../../controllers/crdkeeper/webhook-probe.ts';
import { type IdentityCaches, resolveIdentity } from '../../../controllers/identities/identity-chain.ts';
import { CRDS, OUR_CRD } from '../../../controllers/shared/crd/served-schema.ts';
import { NAMESPACES } from '../../../controllers/shared/live-profiles.ts';
import { credentialsName } from '../../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { defaultEksClusterName } from '../../../pkg/fargate/names.ts';
import { parseFlags } from '../../manager/flags/parse-flags.ts';
import { leaseNameFor } from '../../manager/lease-name.ts';
import { type Answer, SILENT, attempt } from '../aws.ts';
import { type Deployment, DEPLOYMENTS, toDeployment } from '../deployment.ts';
import { CONTROL_PLANES, SERVICE_ACCOUNTS } from '../kube.ts';
import { decodeObjects, listObjects } from '../objects.ts';
import { type RbacRole, rbacRolesFor } from './permissions.ts';

const REVIEWS: Resource = { group: 'authorization.k8s.io', version: 'v1', plural: 'subjectaccessreviews' };
/** https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html */
const ROLE_ANNOTATION = 'eks.amazonaws.com/role-arn';

export type ClusterFacts = Awaited<ReturnType<typeof readCluster>>;
export type Manager = Awaited<ReturnType<typeof readManager>>;
/** An EKS cluster in the spec of a control plane, or in spec.eksCluster of an AWSFargateProfile. */
export type NamedCluster = ReturnType<typeof namedClusters>[number];

type Objects = readonly KubeObject[];

export const orNone = <A>(answer: Answer<readonly A[]>): readonly A[] => (E.isRight(answer) ? answer.right : []);

/** If the API server forbids a request or does not serve a kind, only that answer is missing. @throws KubeError */
export async function readCluster(client: KubeClient, managerNamespace: string, signal: AbortSignal) {
  const list = (resource: Resource, labelSelector?: string): Promise<Answer<Objects>> =>
    attempt(async () => (await client.list(resource, { labelSelector, signal })).items);
  const version = await attempt(() => client.discover('/version', { signal }));
  const deployments = E.map((items: Objects) => items.map(toDeployment))(await list(DEPLOYMENTS, api.PROVIDER_LABEL));
  const deployment = orNone(deployments).find(
    ({ provider, key }) => provider === api.PROVIDER && key.namespace === managerNamespace,
  );
  const manager = await readManager(client, deployment, E.isRight(deployments), managerNamespace, signal);
  const objects = await listAllObjects(client, signal);
  const webhooks = await attempt(async () => {
    const { entries } = await observe(client, signal);
    const probe = { profile: orNone(objects)[0], namespace: managerNamespace };
    return { entries, answer: await askWebhooks(client, entries, probe, signal) };
  });
  const crd = await attempt(() => client.get(CRDS, OUR_CRD, { signal }));
  const controlPlanes = await list(CONTROL_PLANES);
  const clusters = namedClusters(orNone(controlPlanes), decoded(orNone(objects)), await readIdentities(list));
  return { version, managerNamespace, deployments, manager, crd, webhooks, objects, controlPlanes, clusters };
}

export const listAllObjects = (client: KubeClient, signal: AbortSignal): Promise<Answer<Objects>> =>
  attempt(() => listObjects(client, { namespace: undefined, names: [] }, signal));

export const decoded = (objects: Objects): readonly api.AWSFargateProfile[] => decodeObjects(objects).objects;

/**
 * If the cluster has no Deployment of the manager, the manager runs elsewhere. Then its permissions are not known, and
 * its Lease may be in another cluster. `isSeen`: whether the Deployments could be listed.
 */
async function readManager(
  client: KubeClient,
  deployment: Deployment | undefined,
  isSeen: boolean,
  namespace: string,
  signal: AbortSignal,
) {
  const command = parseFlags(deployment?.args ?? ['--leader-elect']);
  const isElsewhere = deployment === undefined && isSeen;
  const flags = E.isRight(command) && command.right.kind === 'run' ? command.right.flags : undefined;
  const account: ObjectKey = { namespace, name: deployment?.serviceAccount ?? 'capaf-manager' };
  const roleArn = await attempt(async () => {
    const serviceAccount = await client.get(SERVICE_ACCOUNTS, account, { signal });
    return serviceAccount?.metadata.annotations?.[ROLE_ANNOTATION];
  });
  const missing = await Array.fromAsync(isElsewhere ? [] : rbacRolesFor(flags), async (role) => ({
    role: `${role.kind} ${role.name}`,
    permissions: await attempt(() => missingOf(client, role, account, signal)),
  }));
  const leaseNamespace = flags?.election?.namespace ?? flags?.managerNamespace ?? namespace;
  const lease = flags?.election && { namespace: leaseNamespace, name: leaseNameFor(flags) };
  return {
    deployment,
    isElsewhere,
    flags,
    /** What is wrong with the manager's flags, so that it does not start. */
    mistake: E.isLeft(command) ? command.left : undefined,
    account,
    roleArn,
    missing,
    lease: lease && {
      name: keyText(lease),
      spec: await attempt(async () => {
        const object = await client.get(LEASES, lease, { signal });
        return object && leaseSpecOf(object);
      }),
    },
  };
}

/** Returns the missing permissions, such as `get, patch awsfargateprofiles/status.infrastructure.cluster.x-k8s.io`. */
async function missingOf(client: KubeClient, role: RbacRole, { namespace, name }: ObjectKey, signal: AbortSignal) {
  const user = `system:serviceaccount:${namespace}:${name}`;
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const denied = role.permissions.map(async (attributes) => {
    const resourceAttributes = { ...attributes, namespace: role.kind === 'Role' ? namespace : '' };
    const spec = { user, groups, resourceAttributes };
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    const isAllowed = fieldAt(fieldAt(await client.review(REVIEWS, review, { signal }), 'status'), 'allowed');
    const { verb, group, resource, subresource } = attributes;
    const plural = subresource === '' ? resource : `${resource}/${subresource}`;
    return isAllowed === true ? [] : [{ verb, of: resourceName({ group, plural }) }];
  });
  const byResource = Map.groupBy((await Promise.all(denied)).flat(), ({ of }) => of);
  return [...byResource].map(([of, all]) => `${[...new Set(all.map(({ verb }) => verb))].join(', ')} ${of}`);
}

/** Returns caches like those of the controllers, because `resolveIdentity` reads from caches. They are filled once. */
async function readIdentities(listIn: (resource: Resource) => Promise<Answer<Objects>>): Promise<IdentityCaches> {
  const { IDENTITY_GROUP: group, IDENTITY_VERSION: version, IDENTITY_PLURALS: plurals } = external;
  const stores = new Map<string, Store>();
  for (const resource of [...Object.values(plurals).map((plural) => ({ group, version, plural })), NAMESPACES]) {
    const store = new Store({ name: resource.plural, logger: SILENT });
    const listed = await listIn(resource);
    if (E.isRight(listed)) store.replaceAll(listed.right, '');
    else store.markUnserved({ reason: listed.left });
    stores.set(resource.plural, store);
  }
  const storeOf = (plural: string): Store => stores.get(plural) ?? new Store({ name: plural, logger: SILENT });
  return {
    identitiesOf: (kind) => new TypedStore(storeOf(plurals[kind]), external.decodeIdentity),
    namespaces: storeOf(NAMESPACES.plural),
  };
}

function namedClusters(controlPlanes: Objects, profiles: readonly api.AWSFargateProfile[], caches: IdentityCaches) {
  const named = [
    ...controlPlanes.flatMap((object) => {
      const controlPlane = external.decodeAWSManagedControlPlane(object);
      if (E.isLeft(controlPlane)) return [];
      const { metadata, eksClusterName, region, identityRef } = controlPlane.right;
      const { namespace } = metadata;
      const name = eksClusterName ?? defaultEksClusterName(metadata.name, namespace);
      return { namespace, name, region, identityRef, field: 'controlPlane' as const };
    }),
    ...profiles.flatMap(({ metadata: { namespace }, spec, status }) => {
      if (spec.eksCluster === undefined) return [];
      const { name, region = status?.region, identityRef } = spec.eksCluster;
      return { namespace, name, region, identityRef, field: 'eksCluster' as const };
    }),
  ];
  const accounts = new Map(
    profiles.map(({ metadata: { namespace }, status = {} }) => [
      [namespace, status.eksClusterName, status.region].join(),
      status.account,
    ]),
  );
  /** The manager's condition about the credentials that it uses for an EKS cluster. */
  const conditionOf = (namespace: string, name: string, identity: string) =>
    profiles
      .filter(({ metadata, status }) => metadata.namespace === namespace && status?.eksClusterName === name)
      .filter(
        ({ status: { identityRef: { kind = '', name: used = '' } = {} } = {} }) =>
          credentialsName(used === '' ? undefined : { kind, name: used }) === identity,
      )
      .flatMap(({ metadata, status }) =>
        (status?.conditions ?? []).map((condition) => ({ ...condition, object: keyText(metadata) })),
      )
      .find(({ type, status }) => type === 'CredentialsReady' && status !== 'Unknown');
  const distinct = new Map(named.map((each) => [JSON.stringify(each), each]));
  return [...distinct.values()].map(({ identityRef, field, ...cluster }) => {
    const { namespace, name, region } = cluster;
    const chain = resolveIdentity(identityRef, namespace, caches, field);
    const { roleIdentities = [], staticIdentity } = E.isRight(chain) ? chain.right : {};
    /** The last role of the chain. If undefined, the credentials are the manager's own or come from a Secret. */
    const { roleARN: roleArn, externalID: externalId } = roleIdentities.at(-1)?.spec ?? {};
    const identity = credentialsName(identityRef);
    return {
      ...cluster,
      identity,
      condition: conditionOf(namespace, name, identity),
      externalId,
      problem: E.isLeft(chain) ? chain.left : undefined,
      roleArn,
      isManager: E.isRight(chain) && roleArn === undefined && staticIdentity === undefined,
      /** Undefined if neither an object's status nor the role's ARN contains the account. */
      account: accounts.get([namespace, name, region].join()) ?? (roleArn && parseRoleArn(roleArn)?.account),
    };
  });
}
