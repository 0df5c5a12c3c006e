import { expect } from 'chai';
import { REASONS } from '../../../controllers/awsfargateprofile/reasons/reasons.ts';
import type { CallRecord } from '../../aws/call-log.ts';
import { readPage, takeBlocks } from '../../docs/blocks.ts';
import { openTerminal } from '../../docs/terminal.ts';
import { eventually } from '../../support/eventually.ts';
import { type AuditEntry, createAuditLog } from '../../world/audit.ts';
import { CAPA_AGENT, CAPA_KEY } from '../../world/cluster-api/capa-simulator.ts';
import { QUICK_EKS, startClusterApi } from '../../world/cluster-api/cluster-api.ts';
import {
  CONTROL_PLANE_FINALIZER,
  createClusterWithProfiles,
  finalizersOf,
} from '../../world/cluster-api/cluster-teardown.ts';
import { type World, AWS_KEY, startWorld } from '../../world/world.ts';

const page = readPage('docs/teardown.md');
const blocks = takeBlocks('docs/teardown.md', import.meta.url);
const deletion = blocks.next('kubectl delete cluster');
const diagram = blocks.next('sequenceDiagram');

const RECORDED = {
  level: 'RequestResponse',
  verbs: ['create', 'update', 'patch', 'delete'],
  resources: [
    { group: 'infrastructure.cluster.x-k8s.io' },
    { group: 'controlplane.cluster.x-k8s.io' },
    { group: 'cluster.x-k8s.io' },
  ],
};
/** The names of the clients in the diagram, by the first word of their User-Agent and by their AWS access key. */
const CLIENTS: Readonly<Record<string, string>> = {
  kubectl: 'You',
  'cluster-api-manager': 'Cluster API',
  [CAPA_AGENT]: 'CAPA',
  'cluster-api-provider-aws-fargate': 'this provider',
  [CAPA_KEY]: 'CAPA',
  [AWS_KEY]: 'this provider',
};
const KINDS: Readonly<Record<string, string>> = {
  clusters: 'Cluster',
  awsmanagedcontrolplanes: 'AWSManagedControlPlane',
  awsmanagedclusters: 'AWSManagedCluster',
  awsfargateprofiles: 'AWSFargateProfile',
};
const SERVICES: Readonly<Record<string, string>> = { eks: 'EKS', iam: 'IAM', sts: 'STS', ec2: 'EC2' };

/** The arrows of a mermaid sequence diagram, each as `sender → receiver: text`. */
function arrowsOf(text: string): readonly string[] {
  const lines = text.split('\n');
  const names = new Map(
    lines.flatMap((line) => {
      const [, id, name = id] = /^ *(?:actor|participant) (\w+)(?: as (.+))?$/.exec(line) ?? [];
      return id === undefined ? [] : [[id, name] as const];
    }),
  );
  return lines.flatMap((line) => {
    const [, from = '', to = '', message] = /^ *(\w+)--?(?:>>|x)(\w+): (.+)$/.exec(line) ?? [];
    return message === undefined ? [] : [`${names.get(from)} → ${names.get(to)}: ${message}`];
  });
}

/**
 * Sorts requests by the order in which the API server executed them. The audit log has them in the order of the
 * answers.
 */
function inOrder(audit: readonly AuditEntry[]): readonly AuditEntry[] {
  const versionOf = ({ responseObject }: AuditEntry): number =>
    Number(responseObject?.metadata.resourceVersion ?? Number.MAX_SAFE_INTEGER);
  return audit.toSorted((a, b) => versionOf(a) - versionOf(b));
}

/** The deletions of objects and the removals of finalizers since the deletion of the Cluster. */
function requestsToApiServer(audit: readonly AuditEntry[]): readonly string[] {
  const finalizers = new Map<string, readonly string[]>();
  let isDeleting = false;
  return audit.flatMap(({ verb, userAgent, objectRef, responseObject }) => {
    const name = `${KINDS[objectRef?.resource ?? '']} ${objectRef?.name}`;
    const before = finalizers.get(name) ?? [];
    const now = responseObject?.metadata.finalizers ?? [];
    finalizers.set(name, now);
    isDeleting ||= verb === 'delete' && name === 'Cluster prod';
    if (!isDeleting) return [];
    const to = `${CLIENTS[userAgent.split(/[ /]/)[0] ?? '']} → API server:`;
    if (verb === 'delete') return [`${to} delete ${name}`];
    return [
      ...(now.some((each) => !before.includes(each)) ? [`${to} add finalizer to ${name}`] : []),
      ...(before.some((each) => !now.includes(each)) ? [`${to} remove finalizer from ${name}`] : []),
    ];
  });
}

/** The calls that change AWS, the refusals, and the answers that a Fargate profile or EKS cluster is gone. */
function messagesWithAws(calls: readonly CallRecord[]): readonly string[] {
  return calls.flatMap(({ service, operation, mutates, identifiers, accessKeyId = '', errorCode, errorMessage }) => {
    const [who, aws] = [CLIENTS[accessKeyId], SERVICES[service]];
    const { fargateProfileName, RoleName, name = '' } = identifiers;
    const what = (fargateProfileName ?? RoleName ?? name).replace(/^(?:prod-)?default_|_fargate$/g, '');
    if (mutates)
      return [
        `${who} → ${aws}: ${operation} ${RoleName === undefined ? '' : 'of '}${what}`,
        ...(errorCode === undefined ? [] : [`${aws} → ${who}: refused: ${errorMessage}`]),
      ];
    const isGone = service === 'eks' && errorCode === 'ResourceNotFoundException';
    return isGone && /^Describe(Cluster|FargateProfile)$/.test(operation) ? [`${aws} → ${who}: ${what} is gone`] : [];
  });
}

function tableBelow(heading: string): readonly (readonly string[])[] {
  const section = page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .map((cells) => cells.slice(1, -1));
}

describe('docs/teardown.md', function () {
  let world: World;
  let audit: readonly AuditEntry[];
  let calls: readonly CallRecord[];
  /** Renames the two profiles in a text, if necessary: on the page, EKS deletes `default_api` first. */
  let asOnPage: (text: string) => string;

  before(async function () {
    const log = await createAuditLog(RECORDED);
    world = await startWorld({ config: QUICK_EKS, apiServerArgs: log.apiServerArgs });
    world.addCleanup(() => log.close());
    const clusterApi = await startClusterApi(world, this);
    await world.startManager();
    const cluster = await createClusterWithProfiles(world, 'prod', ['api', 'web']);
    world.aws.onCall(async ({ operation }, phase) => {
      // A retried DeleteCluster could succeed before the manager deletes the role, as docs/teardown.md explains. The
      // test delays DeleteCluster until the manager has removed the control plane finalizer, so that all runs have the
      // same order.
      if (phase === 'before' && operation === 'DeleteCluster' && world.aws.admin.profiles().length === 0)
        await eventually(
          async () => !(await finalizersOf(world, cluster.controlPlanePath)).includes(CONTROL_PLANE_FINALIZER),
        );
    });

    const afterSeq = world.aws.log.read().at(-1)?.seq ?? 0;
    const terminal = await openTerminal(world.controlPlane);
    world.addCleanup(() => terminal.close());
    await terminal.run(deletion);
    await clusterApi.clusterGone(cluster);
    await eventually(async () => {
      audit = inOrder((await log.read()).filter(({ responseStatus }) => (responseStatus?.code ?? 0) < 300));
      const ends = requestsToApiServer(audit).filter((each) => each.endsWith('remove finalizer from Cluster prod'));
      expect(ends, 'the recorded end of the Cluster').to.have.length(1);
    });
    calls = world.aws.log.read({ afterSeq });
    const first = calls.find(({ operation }) => operation === 'DeleteFargateProfile')?.identifiers[
      'fargateProfileName'
    ];
    const other: Readonly<Record<string, string>> = { api: 'web', web: 'api' };
    asOnPage = (text) =>
      first === 'default_api' ? text : text.replaceAll(/(?<= |_)(?:api|web)\b/g, (name) => other[name] ?? name);
  });
  after(() => world.finish());

  it('has a diagram of the recorded requests and answers, with their senders and receivers', () => {
    const recorded = [...requestsToApiServer(audit), ...messagesWithAws(calls)].map(asOnPage);
    expect([...new Set(recorded)]).to.have.members([...new Set(arrowsOf(diagram))]);
  });

  it('quotes the conditions of the objects', () => {
    const rows = tableBelow('What the objects report');
    expect(rows).to.have.length(3);
    for (const [kind, type, reason, message = ''] of rows) {
      const said = audit.flatMap(({ responseObject: object }) =>
        object?.kind === kind ? (object?.status?.conditions?.filter((each) => each.type === type) ?? []) : [],
      );
      // A `…` in a message of the page stands for any text.
      const [begin = '', end = ''] = [message.split('…')[0], message.split('…').at(-1)];
      const isIt = (words: string): boolean => words.startsWith(begin) && words.endsWith(end);
      const isSaid = said.some((each) => each.reason === reason && isIt(asOnPage(each.message ?? '')));
      const others = [...new Set(said.map((each) => `${each.reason}: ${each.message}`))].join('\n');
      expect(isSaid, `${kind} said of ${type}:\n${others}`).to.equal(true);
    }
  });

  it('lists only existing reasons', () => {
    const reasons = tableBelow('Troubleshooting').flatMap(([cell = '']) => cell.split(', '));
    expect(reasons).to.have.length.above(8);
    expect(Object.keys(REASONS)).to.include.members(reasons.filter((reason) => reason !== 'Paused'));
  });
});
