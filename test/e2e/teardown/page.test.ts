import { expect } from 'chai';
import { REASONS } from '../../../controllers/awsfargateprofile/reasons/reasons.ts';
import { readPage, takeBlocks } from '../../docs/blocks.ts';
import { openTerminal } from '../../docs/terminal.ts';
import { type Message, findDeviation, parseSequence } from '../../docs/sequence.ts';
import { eventually } from '../../support/eventually.ts';
import { type DiagramParticipants, messagesOfTeardown } from '../../teardown/sequence-messages.ts';
import { type AuditEvent, createAuditLog } from '../../world/cluster-api/audit.ts';
import { CAPA_AGENT, capaKeyOf } from '../../world/cluster-api/capa-simulator.ts';
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
  'infrastructure.cluster.x-k8s.io': ['awsfargateprofiles', 'awsfargateprofiles/status', 'awsmanagedclusters'],
  'controlplane.cluster.x-k8s.io': ['awsmanagedcontrolplanes'],
  'cluster.x-k8s.io': ['clusters', 'clusters/status'],
};

/**
 * Returns the names that the diagram of docs/teardown.md uses for the API clients and the objects of the test. In the
 * diagram, EKS deletes the Fargate profile `api` before the Fargate profile `web`. In the test, EKS deletes the Fargate
 * profile of the AWSFargateProfile `first` before that of `second`.
 */
const castOf = (first: string, second: string): DiagramParticipants => ({
  agents: {
    kubectl: 'You',
    'cluster-api-manager': 'Cluster API',
    [CAPA_AGENT]: 'CAPA',
    'cluster-api-provider-aws-fargate': 'this provider',
  },
  keys: { [capaKeyOf()]: 'CAPA', [AWS_KEY]: 'this provider' },
  named: {
    'default_prod-control-plane': 'prod-control-plane',
    [`default_${first}`]: 'api',
    [`default_${second}`]: 'web',
    [`prod-default_${first}_fargate`]: 'api',
    [`prod-default_${second}_fargate`]: 'web',
    [`AWSFargateProfile ${first}`]: 'AWSFargateProfile api',
    [`AWSFargateProfile ${second}`]: 'AWSFargateProfile web',
  },
});

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
  let audit: readonly AuditEvent[];
  let recorded: readonly Message[];
  let order: readonly [first: string, second: string];

  before(async function () {
    this.timeout(0); // No time limit: the first test run on a machine downloads Go modules and builds programs.
    const log = await createAuditLog(RECORDED);
    world = await startWorld({ config: QUICK_EKS, apiServerArgs: log.apiServerArgs });
    world.addCleanup(() => log.close());
    const clusterApi = await startClusterApi(world, this);
    await world.startManager();
    const cluster = await createClusterWithProfiles(world, 'prod', ['api', 'web']);
    world.aws.onCall(async ({ operation }, phase) => {
      // The test delays DeleteCluster until the manager has removed the control plane finalizer, so that the order of
      // requests is always the same. Otherwise a retried DeleteCluster could succeed before the manager deletes the
      // role, as docs/teardown.md explains.
      if (phase === 'before' && operation === 'DeleteCluster' && world.aws.admin.profiles().length === 0)
        await eventually(
          async () => !(await finalizersOf(world, cluster.controlPlanePath)).includes(CONTROL_PLANE_FINALIZER),
        );
    });

    const since = Date.now();
    const terminal = await openTerminal(world.controlPlane);
    world.addCleanup(() => Promise.resolve(terminal.close()));
    await terminal.run(deletion);
    await clusterApi.clusterGone(cluster);
    await eventually(async () => {
      audit = await log.read();
      const last = audit.findLast(({ objectRef }) => objectRef.resource === 'clusters')?.object;
      expect(last?.metadata.finalizers ?? [], 'the recorded end of the Cluster').to.deep.equal([]);
    });
    const calls = world.aws.log.read();
    const goesFirst = calls.find(({ operation }) => operation === 'DeleteFargateProfile')?.identifiers[
      'fargateProfileName'
    ];
    order = goesFirst === 'default_web' ? ['web', 'api'] : ['api', 'web'];
    recorded = messagesOfTeardown(audit, calls, castOf(...order), since);
  });
  after(() => world.finish());

  it('has a diagram of the recorded requests, with their clients and in their order', () => {
    const deviation = findDeviation(recorded, parseSequence(diagram));
    // `expect.fail` shows the whole deviation. An assertion such as `equal` would truncate it.
    if (deviation !== undefined) expect.fail(deviation);
  });

  it('has a diagram in which each line is required', () => {
    const arrows = diagram.split('\n').flatMap((line, index) => (/>>|--x/.test(line) ? [index] : []));
    expect(arrows).to.have.length.above(20);
    for (const left of arrows) {
      const without = diagram.split('\n').toSpliced(left, 1).join('\n');
      expect(findDeviation(recorded, parseSequence(without)), `without line ${left}`).to.be.a('string');
    }
  });

  it('quotes the conditions of the objects', () => {
    const rows = tableBelow('What the objects say meanwhile');
    expect(rows).to.have.length(3);
    for (const [kind, type, reason, message = ''] of rows) {
      // In docs/teardown.md, the name of the Fargate profile that EKS deletes first is `api`. A `…` in a message stands
      // for any text.
      const parts = message.replace('default_api', `default_${order[0]}`).split('…');
      const isIt = (words = ''): boolean => words.startsWith(parts[0] ?? '') && words.endsWith(parts.at(-1) ?? '');
      const isSaid = audit.some(
        ({ object }) =>
          object?.kind === kind &&
          object?.status?.conditions?.some(
            (each) => each.type === type && each.reason === reason && isIt(each.message),
          ) === true,
      );
      const said = audit.flatMap(({ object }) =>
        object?.kind === kind ? (object?.status?.conditions?.filter((each) => each.type === type) ?? []) : [],
      );
      const others = [...new Set(said.map((each) => `${each.reason}: ${each.message}`))].join('\n');
      expect(isSaid, `${kind} said of ${type}:\n${others}`).to.equal(true);
    }
  });

  it('lists only existing reasons', () => {
    const reasons = tableBelow('When it does not go on').flatMap(([cell = '']) => cell.split(', '));
    expect(reasons).to.have.length.above(8);
    expect(Object.keys(REASONS)).to.include.members(reasons.filter((reason) => reason !== 'Paused'));
  });
});
