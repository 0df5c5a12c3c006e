import * as E from 'fp-ts/lib/Either.js';
import { keyText, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import type { LeaseSpec } from 'controller-runtime/election';
import type { Ms } from 'controller-runtime/env';
import { textAt } from 'controller-runtime/json';
import { tooOld } from 'controller-runtime/manager';
import { shellCommand } from 'controller-runtime/text';
import { PROVIDER } from '../../../api/v1beta2/index.ts';
import { writersOf } from '../../../controllers/crdkeeper/parts.ts';
import { compareSchema } from '../../../controllers/shared/crd/crd-schema.ts';
import { NEEDED_KUBERNETES } from '../../../controllers/shared/crd/needed-kubernetes.ts';
import { FOREIGN_SCHEMA_REMEDY, OUR_CRD } from '../../../controllers/shared/crd/served-schema.ts';
import { missingStoredVersions } from '../../../controllers/shared/crd/stored-versions.ts';
import { VERSION } from '../../../pkg/version.ts';
import type { Answer } from '../aws.ts';
import type { Deployment } from '../deployment.ts';
import { checkCapacity } from './capacity.ts';
import { type Check, type Verdict, line } from './check.ts';
import { type DnsFacts, checkDns } from './dns.ts';
import type { Orphan } from './orphans.ts';
import type { AwsFacts, Denial } from './read-aws.ts';
import { type ClusterFacts, type Manager, type NamedCluster, orNone } from './read-cluster.ts';

/** How long a lease still counts as held after it has expired, because the clocks of two machines differ. */
const LEASE_TOLERANCE: Ms = 60_000;
/** The manager can create and delete profiles without these statements of docs/aws-permissions.md. */
const OPTIONAL = ['AccessEntries'];

const check = <A>(group: Check['group'], name: string, seen: Answer<A>, judge: (value: A) => Verdict): Check =>
  line(group, name, E.isLeft(seen) ? ['unchecked', seen.left] : judge(seen.right));

const unseen = (group: Check['group'], name: string, seen: Answer<unknown>): readonly Check[] =>
  E.isLeft(seen) ? [line(group, name, ['unchecked', seen.left])] : [];

export interface Facts {
  readonly cluster: ClusterFacts;
  readonly aws: AwsFacts;
  readonly dns: DnsFacts | undefined;
  readonly orphans: Answer<readonly Orphan[]>;
}

export function checkAll({ cluster, aws, dns, orphans }: Facts, now: Ms): readonly Check[] {
  const { manager, deployments, controlPlanes } = cluster;
  const { account, missing, lease } = manager;
  // The Map below keeps the last cluster of each identity. To show failures, clusters without a condition about the
  // credentials are sorted first, and those whose condition is False last.
  const worth = ({ condition }: NamedCluster): number => ['True', 'False'].indexOf(condition?.status ?? '');
  const inOrder = cluster.clusters.toSorted((a, b) => worth(a) - worth(b));
  const identities = new Map(inOrder.map((each) => [`${each.identity} ${each.problem?.message}`, each]));
  return [
    line('installation', 'capaf', ['ok', VERSION]),
    check('installation', 'Kubernetes', cluster.version, judgeServer),
    checkManager(manager, cluster),
    check('installation', 'CRD', cluster.crd, judgeCrd),
    ...checkStoredVersions(cluster.crd),
    check('installation', 'CAPA webhooks', cluster.webhooks, judgeWebhooks),
    ...orNone(deployments).flatMap(checkProvider),
    ...missing.map(({ role, permissions }) =>
      check('RBAC', role, permissions, (each) => judgeRbac(role, account, each)),
    ),
    ...(lease
      ? [
          check('leader', `Lease ${lease.name}`, lease.spec, (spec) =>
            spec === undefined && manager.isElsewhere ? ELSEWHERE : judgeLease(spec, account.namespace, now),
          ),
        ]
      : []),
    check('AWS', 'credentials of capaf', aws.caller, ({ account: own }) => ['ok', `AWS account ${own}`]),
    ...unseen('AWS', 'control planes', controlPlanes),
    ...[...identities.values()].map((each) => line('AWS', each.identity, judgeIdentity(each, aws.assumed))),
    ...aws.simulations.map(({ principal, denials }) =>
      check('AWS', 'IAM permissions', denials, (found) => judgePermissions(principal, found)),
    ),
    ...checkCapacity(aws),
    ...checkDns(dns, aws, now),
    ...checkOrphans(aws, orphans),
  ];
}

/** For a Lease that does not exist. Nothing in this cluster shows whether a manager runs elsewhere. */
const ELSEWHERE: Verdict = [
  'unchecked',
  'does not exist here',
  'Name the namespace of the manager with --manager-namespace, unless it runs outside this cluster',
];

function judgeServer(version: unknown): Verdict {
  const problem = tooOld(version, NEEDED_KUBERNETES);
  if (problem !== undefined) return ['problem', problem];
  return [
    'ok',
    `${textAt(version, 'gitVersion') ?? 'unknown'}; v1.${NEEDED_KUBERNETES.oldestMinor} or newer is required`,
  ];
}

function checkManager({ deployment, mistake }: Manager, { deployments, managerNamespace }: ClusterFacts): Check {
  const none = `no Deployment in namespace ${managerNamespace}, so its pods and permissions are not known`;
  if (deployment === undefined)
    return check('installation', 'manager', deployments, () => ['unchecked', none, ELSEWHERE[2]]);
  const name = `Deployment ${keyText(deployment.key)}`;
  const broken = `the manager does not start: ${mistake}`;
  return line('installation', name, mistake ? ['problem', broken, 'Fix its arguments'] : judgePods(deployment));
}

function judgePods({ version, ready, replicas, key }: Deployment): Verdict {
  const state = `${version}, ${ready} of ${replicas} pods ready`;
  if (ready === 0 || ready < replicas)
    return [
      ready === 0 ? 'problem' : 'warning',
      state,
      `See ${shellCommand(['kubectl', 'describe', 'pods', '-n', key.namespace])}`,
    ];
  // A mirror of the image may have a tag that is not the version.
  if (version === VERSION || !/^v\d/.test(version)) return ['ok', state];
  return ['warning', `${state}; capaf ${VERSION} checks what its own release needs`, `Use capaf ${version}`];
}

function judgeCrd(crd: KubeObject | undefined): Verdict {
  const { name } = OUR_CRD;
  const fix = 'Apply config/crd of the release of the manager';
  if (crd === undefined) return ['problem', `${name} does not exist`, fix];
  const schema = compareSchema(crd);
  if (schema.kind === 'ours') return ['ok', `${name} belongs to this provider`];
  const missing = schema.missing.join(', ');
  if (schema.provider === PROVIDER) return ['problem', `${name} is of another release and lacks ${missing}`, fix];
  const writers = writersOf({ crd, schema: 'foreign', entries: [], inOrder: [] }, ['crd']);
  const writer = writers.length === 0 ? '' : `; last written by ${writers.join(' and ')}`;
  const drops = `is that of ${schema.provider ?? 'another provider'} and drops ${missing}`;
  return ['problem', `${name} ${drops}${writer}`, FOREIGN_SCHEMA_REMEDY];
}

/** Returns a line only if objects may be stored in a version that this release's CRD lacks. */
function checkStoredVersions(crd: ClusterFacts['crd']): readonly Check[] {
  const versions = E.isRight(crd) ? missingStoredVersions(crd.right) : [];
  if (versions.length === 0) return [];
  const names = versions.join(' and ');
  const message = `objects may be stored as ${names}, which the CRD of capaf ${VERSION} lacks: the API server refuses this CRD`;
  const fix = 'See "Stored versions" in docs/upgrade.md before you apply the CRD';
  return [line('installation', 'stored versions', ['warning', message, fix])];
}

type Webhooks = Extract<ClusterFacts['webhooks'], E.Right<unknown>>['right'];

function judgeWebhooks({ entries, answer }: Webhooks): Verdict {
  const names = entries.map(({ name }) => name).join(' and ');
  const turnOff = 'Turn off its feature gate EKSFargate, or remove this provider';
  const found = entries.map(({ name, configuration: { kind, metadata } }) => `${name} from ${kind} ${metadata.name}`);
  const remove = `Remove ${found.join(' and ')}, or run the manager with --manage-crd`;
  switch (answer.kind) {
    case 'noWebhook':
      return ['ok', 'Cluster API Provider AWS has none for AWSFargateProfiles'];
    case 'served':
      return ['problem', `Cluster API Provider AWS answers ${answer.webhook}, and changes profiles too`, turnOff];
    case 'unclear':
      return ['warning', `${names}: a dry run does not show who answers: ${answer.because}`, remove];
    default:
      return [
        'problem',
        `nothing answers ${names}, so the API server rejects each write of an AWSFargateProfile`,
        remove,
      ];
  }
}

/** The names of the providers, by the value of the label with which clusterctl marks a provider. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['cluster-api', 'Cluster API'],
  ['infrastructure-aws', 'Cluster API Provider AWS'],
]);

function checkProvider({ provider, key, version, ready, replicas }: Deployment): readonly Check[] {
  const name = PROVIDERS.get(provider);
  const message = `${version}, ${ready} of ${replicas} pods ready (Deployment ${keyText(key)})`;
  return name === undefined ? [] : [line('installation', name, [ready < replicas ? 'warning' : 'ok', message])];
}

function judgeRbac(role: string, account: ObjectKey, denied: readonly string[]): Verdict {
  const user = `ServiceAccount ${keyText(account)}`;
  if (denied.length === 0) return ['ok', `${user} has the required permissions`];
  const fix = `Apply the ${role} of the release that the manager runs, and its binding`;
  return ['problem', `${user} may not ${denied.join('; ')}`, fix];
}

function judgeLease(spec: LeaseSpec | undefined, namespace: string, now: Ms): Verdict {
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 0 } = spec ?? {};
  const look = `See ${shellCommand(['kubectl', 'get', 'pods', '-n', namespace])}`;
  if (spec === undefined) return ['problem', 'does not exist: no manager has started', look];
  if (holderIdentity === '') return ['problem', 'nobody holds it: no manager runs', look];
  return now - Date.parse(renewTime) <= leaseDurationSeconds * 1_000 + LEASE_TOLERANCE
    ? ['ok', `${holderIdentity} renews it`]
    : ['problem', `${holderIdentity} has not renewed it since ${renewTime}`, look];
}

/** The manager's own condition takes precedence: if capaf cannot assume a role, the manager may still be able to. */
function judgeIdentity(
  { problem, condition, roleArn, isManager }: NamedCluster,
  assumed: AwsFacts['assumed'],
): Verdict {
  if (problem?.reason === 'IdentityUnreadable') return ['unchecked', problem.message];
  if (problem !== undefined) return ['problem', problem.message, 'See docs/identities.md'];
  if (condition?.status === 'False')
    return ['problem', `AWSFargateProfile ${condition.object}: ${condition.message}`, 'See docs/identities.md'];
  if (condition !== undefined) return ['ok', `AWSFargateProfile ${condition.object} has its credentials`];
  const answer = assumed.get(roleArn ?? '');
  if (answer !== undefined && E.isRight(answer)) return ['ok', `capaf has assumed ${roleArn}`];
  const why = answer === undefined ? '' : `; capaf cannot assume ${roleArn}: ${answer.left}`;
  const fix = roleArn === undefined && !isManager ? 'Run capaf with the access keys of its Secret' : undefined;
  return ['unchecked', `no AWSFargateProfile shows that it gives credentials${why}`, fix];
}

function judgePermissions(principal: string, denials: readonly Denial[]): Verdict {
  const actions = [...new Set(denials.map(({ action }) => action))].join(', ');
  const statements = [...new Set(denials.map(({ sid }) => sid))];
  if (statements.length === 0) return ['ok', `${principal} has the required permissions`];
  const result = statements.every((sid) => OPTIONAL.includes(sid)) ? 'warning' : 'problem';
  const fix = `Add ${statements.join(', ')} of docs/aws-permissions.md to its policy`;
  return [result, `${principal} may not ${actions}`, fix];
}

const UNLESS = 'Remove it, unless another management cluster has the object, or Retain kept it';

function checkOrphans({ clusters, roles }: AwsFacts, orphans: Answer<readonly Orphan[]>): readonly Check[] {
  const profiles = clusters.flatMap(({ profiles: each }) => orNone(each)).length;
  const none = `none among ${profiles} profiles${E.isRight(roles) ? ` and ${roles.right.length} roles` : ''}`;
  if (E.isLeft(orphans)) return unseen('orphans', 'in AWS', orphans);
  const found = orphans.right.map(({ name, message, commands, fix = UNLESS }) =>
    line('orphans', name, ['warning', message, `${fix}: ${commands.join(' && ')}`]),
  );
  return [
    ...(found.length > 0 ? found : [line('orphans', 'in AWS', ['ok', none])]),
    ...clusters.flatMap(({ cluster, profiles: each }) => unseen('orphans', `EKS cluster ${cluster.name}`, each)),
    ...unseen('orphans', 'IAM roles', roles),
  ];
}
