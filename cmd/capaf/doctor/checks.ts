import { textAt } from '../../../api/record.ts';
import { crd as ourCrd } from '../../../api/v1beta2/crd.ts';
import { writersOf } from '../../../controllers/crdkeeper/parts.ts';
import { CAPA_WEBHOOKS, compareSchema, fieldsDroppedBy } from '../../../controllers/shared/crd/crd-schema.ts';
import { FOREIGN_SCHEMA_REMEDY, OUR_CRD } from '../../../controllers/shared/crd/served-schema.ts';
import { hasPausedAnnotation } from '../../../controllers/shared/object-state.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import { OLDEST_MINOR, tooOld } from '../../../pkg/runtime/server-version.ts';
import { VERSION } from '../../../pkg/version.ts';
import { type Answer, type Caller, valueOr } from '../aws.ts';
import type { Orphan } from './orphans.ts';
import type { SeenCluster, TaggedRole } from './read-aws.ts';
import { type ClusterFacts, type Deployment, type Manager, type NamedCluster, decoded } from './read-cluster.ts';

/** `unchecked`: a right is missing or AWS does not answer, which is no problem of the installation. */
export type Result = 'ok' | 'warning' | 'problem' | 'unchecked';

export interface Check {
  readonly group: 'installation' | 'RBAC' | 'leader' | 'AWS' | 'objects' | 'orphans';
  readonly name: string;
  readonly result: Result;
  readonly message: string;
  readonly cure?: string | undefined;
}

export interface AwsFacts {
  readonly caller: Answer<Caller>;
  readonly simulations: readonly {
    /** The ARN of a role with whose credentials the manager calls AWS. */
    readonly principal: string;
    /** The manager's own role is not known, so `principal` is the user or role of the caller. */
    readonly isGuess: boolean;
    readonly denials: Answer<readonly { readonly sid: string; readonly action: string }[]>;
  }[];
  readonly clusters: readonly SeenCluster[];
  readonly roles: Answer<readonly TaggedRole[]>;
  readonly orphans: Answer<readonly Orphan[]>;
}

/** The clocks of two machines differ. */
const LEASE_TOLERANCE: Ms = 60_000;
/** EKS creates or deletes a Fargate profile in some minutes. */
const PATIENCE: Ms = 15 * 60_000;
const NAMED_AT_MOST = 3;
/** Statements of docs/aws-permissions.md without which the manager creates and deletes profiles too. */
const OPTIONAL = ['AccessEntries'];

export const checkAll = (cluster: ClusterFacts, aws: AwsFacts, now: Ms): readonly Check[] => [
  check('installation', 'capaf')('ok', VERSION),
  checkServer(cluster),
  ...cluster.managers.map((manager) => checkManager(manager, cluster)),
  checkCrd(cluster),
  checkWebhooks(cluster),
  ...valueOr(cluster.deployments, []).flatMap(checkProvider),
  ...cluster.managers.flatMap(checkRbac),
  ...cluster.managers.flatMap(({ lease, account }) => (lease ? checkLease(lease, account.namespace, now) : [])),
  ...checkAws(cluster, aws),
  ...checkObjects(cluster, now),
  ...checkOrphans(aws),
];

const check =
  (group: Check['group'], name: string) =>
  (result: Result, message: string, cure?: string): Check => ({ group, name, result, message, cure });

function checkServer({ version }: ClusterFacts): Check {
  const line = check('installation', 'Kubernetes');
  if (version.kind === 'unseen') return line('unchecked', version.why);
  const problem = tooOld(version.value);
  if (problem !== undefined) return line('problem', problem);
  return line('ok', `${textAt(version.value, 'gitVersion') ?? 'unknown'}; v1.${OLDEST_MINOR} or newer is needed`);
}

function checkManager({ deployment, mistake }: Manager, { deployments, managerNamespace }: ClusterFacts): Check {
  const unknown = check('installation', 'manager');
  const elsewhere = 'Name its namespace with --manager-namespace, unless the manager runs outside this cluster';
  if (deployments.kind === 'unseen') return unknown('unchecked', deployments.why);
  if (deployment === undefined)
    return unknown('unchecked', `no Deployment in namespace ${managerNamespace}`, elsewhere);
  const { version, ready, replicas, key } = deployment;
  const line = check('installation', `Deployment ${keyText(key)}`);
  if (mistake !== undefined) return line('problem', `the manager does not start: ${mistake}`, 'Correct its arguments');
  const state = `${version}, ${ready} of ${replicas} pods ready`;
  if (ready === 0 || ready < replicas)
    return line(ready === 0 ? 'problem' : 'warning', state, `See kubectl describe pods -n ${key.namespace}`);
  // Whoever mirrors the image may give it another tag.
  return version === VERSION || !/^v\d/.test(version)
    ? line('ok', state)
    : line('warning', `${state}; capaf ${VERSION} checks what its own release needs`, `Use capaf ${version}`);
}

function checkCrd({ crd }: ClusterFacts): Check {
  const { name } = OUR_CRD;
  const line = check('installation', 'CRD');
  const cure = 'Apply config/crd of the release of the manager';
  if (crd.kind === 'unseen') return line('unchecked', crd.why);
  if (crd.value === undefined) return line('problem', `${name} does not exist`, cure);
  const schema = compareSchema(crd.value);
  if (schema.kind === 'foreign') {
    const writers = writersOf({ crd: crd.value, schema: 'foreign', entries: [], inOrder: [] }, ['crd']);
    const writer = writers.length === 0 ? '' : `; last written by ${writers.join(' and ')}`;
    const owner = schema.provider ?? 'another provider';
    return line(
      'problem',
      `${name} is that of ${owner} and drops ${some(schema.missing)}${writer}`,
      FOREIGN_SCHEMA_REMEDY,
    );
  }
  const dropped = fieldsDroppedBy(crd.value, ourCrd);
  return dropped.length === 0
    ? line('ok', `${name} is that of this provider`)
    : line('warning', `${name} is of another release and lacks ${some(dropped)}`, cure);
}

function checkWebhooks({ webhooks }: ClusterFacts): Check {
  const line = check('installation', 'CAPA webhooks');
  if (webhooks.kind === 'unseen') return line('unchecked', webhooks.why);
  const { entries, answer } = webhooks.value;
  const names = entries.map(({ name }) => name).join(' and ');
  const turnOff = 'Turn off its feature gate EKSFargate, or remove this provider';
  const remove = `Remove ${CAPA_WEBHOOKS.join(' and ')} from its webhook configurations, or run the manager with --manage-crd`;
  switch (answer.kind) {
    case 'noWebhook':
      return line('ok', 'Cluster API Provider AWS has none for AWSFargateProfiles');
    case 'served':
      return line('problem', `Cluster API Provider AWS answers ${answer.webhook}, and changes profiles too`, turnOff);
    case 'unclear':
      return line('warning', `${names}: a dry run does not tell who answers: ${answer.because}`, remove);
    default:
      return line('problem', `nobody answers ${names}: each write of an AWSFargateProfile is refused`, remove);
  }
}

function checkProvider({ provider, key, version, ready, replicas }: Deployment): readonly Check[] {
  const name = { 'cluster-api': 'Cluster API', 'infrastructure-aws': 'Cluster API Provider AWS' }[provider];
  const message = `${version}, ${ready} of ${replicas} pods ready (Deployment ${keyText(key)})`;
  return name === undefined ? [] : [check('installation', name)(ready < replicas ? 'warning' : 'ok', message)];
}

const checkRbac = ({ account, missing }: Manager): readonly Check[] =>
  missing.map(({ role, permissions }) => {
    const [line, user] = [check('RBAC', role), `ServiceAccount ${keyText(account)}`];
    if (permissions.kind === 'unseen') return line('unchecked', permissions.why);
    if (permissions.value.length === 0) return line('ok', `${user} has its permissions`);
    const cure = `Apply the ${role} of the release that the manager runs, and its binding`;
    return line('problem', `${user} may not ${permissions.value.join(', ')}`, cure);
  });

function checkLease({ name, spec }: NonNullable<Manager['lease']>, namespace: string, now: Ms): Check {
  const line = check('leader', `Lease ${name}`);
  if (spec.kind === 'unseen') return line('unchecked', spec.why);
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 0 } = spec.value ?? {};
  const look = `See kubectl get pods -n ${namespace}`;
  if (spec.value === undefined) return line('problem', 'does not exist: no manager has started', look);
  if (holderIdentity === '') return line('problem', 'nobody holds it: no manager runs', look);
  return now - Date.parse(renewTime) <= leaseDurationSeconds * 1_000 + LEASE_TOLERANCE
    ? line('ok', `${holderIdentity} renews it`)
    : line('problem', `${holderIdentity} has not renewed it since ${renewTime}`, look);
}

function checkAws({ controlPlanes, clusters }: ClusterFacts, { caller, simulations }: AwsFacts): readonly Check[] {
  const own = check('AWS', 'credentials of capaf');
  const identities = new Map(clusters.map((each) => [`${each.identity} ${each.problem?.message}`, each]));
  return [
    caller.kind === 'seen' ? own('ok', caller.value.arn) : own('unchecked', caller.why),
    ...(controlPlanes.kind === 'seen' ? [] : [check('AWS', 'control planes')('unchecked', controlPlanes.why)]),
    ...[...identities.values()].map(checkIdentity),
    ...simulations.map(checkPermissions),
  ];
}

function checkIdentity({ identity, problem, roleArn, isManager, name }: NamedCluster): Check {
  const line = check('AWS', identity);
  if (problem?.reason === 'IdentityUnreadable') return line('unchecked', problem.message);
  if (problem !== undefined) return line('problem', problem.message, 'See docs/identities.md');
  if (roleArn !== undefined) return line('ok', `assumes ${roleArn}`);
  return isManager
    ? line('ok', `gives credentials, for example for EKS cluster ${name}`)
    : line('unchecked', 'run capaf with the access keys of its Secret to check their permissions');
}

function checkPermissions({ principal: arn, isGuess, denials }: AwsFacts['simulations'][number]): Check {
  const line = check('AWS', 'IAM permissions');
  const principal = isGuess ? `${arn} (that of capaf, as the ServiceAccount of the manager names no role)` : arn;
  if (denials.kind === 'unseen') return line('unchecked', denials.why);
  const actions = [...new Set(denials.value.map(({ action }) => action))].join(', ');
  const statements = [...new Set(denials.value.map(({ sid }) => sid))];
  if (statements.length === 0) return line('ok', `${principal} has those it needs`);
  const result = statements.every((sid) => OPTIONAL.includes(sid)) ? 'warning' : 'problem';
  const cure = `Add ${statements.join(', ')} of docs/aws-permissions.md to its policy`;
  return line(result, `${principal} may not ${actions}`, cure);
}

/** By reason, because one cause often stops many objects. */
function checkObjects({ objects }: ClusterFacts, now: Ms): readonly Check[] {
  const all = check('objects', 'AWSFargateProfiles');
  if (objects.kind === 'unseen') return [all('unchecked', objects.why)];
  const readable = decoded(objects.value);
  const troubles = readable.flatMap((object) => {
    const conditions = object.status?.conditions ?? [];
    const stalled = conditions.find(({ type, status }) => type === 'Stalled' && status === 'True');
    const ready = conditions.find(({ type }) => type === 'Ready');
    const { reason = 'NotReconciled', message = 'No manager has looked at it: see the Lease and --watch-filter' } =
      stalled ?? ready ?? {};
    const since = Date.parse(ready?.lastTransitionTime ?? object.metadata.creationTimestamp ?? '');
    const isFine = stalled === undefined && (ready?.status === 'True' || now - since < PATIENCE);
    if (isFine || hasPausedAnnotation(object)) return [];
    const result: Result = stalled === undefined ? 'warning' : 'problem';
    return [{ result, reason, message, key: keyText(keyOf(object)) }];
  });
  const groups = Map.groupBy(troubles, ({ result, reason }) => `${result} ${reason}`).values();
  const checks = [...groups].flatMap((group) => {
    const keys = group.map(({ key }) => key);
    const found = `${count(keys.length)}: ${some(keys)}`;
    return group.slice(0, 1).map(({ result, reason, message }) => check('objects', reason)(result, found, message));
  });
  const unreadable = objects.value.length - readable.length;
  const cure = 'Correct the field that an event of each names';
  if (unreadable > 0) checks.push(check('objects', 'InvalidObject')('problem', count(unreadable), cure));
  return checks.length > 0 ? checks : [all('ok', `${count(objects.value.length)}, none in trouble`)];
}

function checkOrphans({ clusters, roles, orphans }: AwsFacts): readonly Check[] {
  const all = check('orphans', 'in AWS');
  if (orphans.kind === 'unseen') return [all('unchecked', orphans.why)];
  const profiles = clusters.flatMap(({ profiles: each }) => valueOr(each, [])).length;
  const none = `none among ${profiles} profiles and ${valueOr(roles, []).length} roles`;
  const cure = 'Run the commands below, unless another management cluster has the object, or Retain kept it';
  const found = orphans.value.map(({ kind, name, eksCluster, owner }) => {
    const message =
      kind === 'Role' ? `nothing in namespace ${owner} uses it` : `AWSFargateProfile ${owner} does not exist`;
    return check('orphans', `${kind} ${name}`)('warning', `${message} (${eksCluster})`, cure);
  });
  const unseen = clusters.flatMap(({ cluster: { name }, profiles: each }) =>
    each.kind === 'unseen' ? check('orphans', `EKS cluster ${name}`)('unchecked', each.why) : [],
  );
  if (roles.kind === 'unseen') unseen.push(check('orphans', 'IAM roles')('unchecked', roles.why));
  return [...(found.length > 0 ? found : [all('ok', none)]), ...unseen];
}

const count = (number: number): string => `${number} AWSFargateProfile${number === 1 ? '' : 's'}`;

function some(items: readonly string[]): string {
  const more = items.length - NAMED_AT_MOST;
  return more <= 0 ? items.join(', ') : `${items.slice(0, NAMED_AT_MOST).join(', ')} and ${more} more`;
}
