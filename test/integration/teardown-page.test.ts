import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { REASONS } from '../../controllers/awsfargateprofile/reasons.ts';
import type { Message } from '../docs/sequence.ts';
import { deviationOf, parseSequence } from '../docs/sequence.ts';
import { eventually } from '../support/eventually.ts';
import type { Cast } from '../teardown/recording.ts';
import { messagesOf } from '../teardown/recording.ts';
import type { AuditEvent } from '../world/audit.ts';
import { auditOf } from '../world/audit.ts';
import { CAPA_AGENT, capaKeyOf } from '../world/capa.ts';
import { QUICK_EKS, startClusterApi } from '../world/cluster-api.ts';
import { GUARD, clusterWithProfiles, finalizersOf } from '../world/cluster-teardown.ts';
import type { World } from '../world/world.ts';
import { AWS_KEY, startWorld } from '../world/world.ts';

const page = readFileSync(fileURLToPath(new URL('../../docs/teardown.md', import.meta.url)), 'utf8');
const diagram = /```mermaid\n([^]+?)```/.exec(page)?.[1] ?? '';

const RECORDED = {
  'infrastructure.cluster.x-k8s.io': ['awsfargateprofiles', 'awsfargateprofiles/status', 'awsmanagedclusters'],
  'controlplane.cluster.x-k8s.io': ['awsmanagedcontrolplanes'],
  'cluster.x-k8s.io': ['clusters', 'clusters/status'],
};

/** `first`: the profile that EKS deletes first, which is `api` on the page. */
const castOf = (first: string, second: string): Cast => ({
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

/** The cells of the table below a heading, a row each. */
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
    this.timeout(0); // the first time binaries are built from Go modules
    const log = await auditOf(RECORDED);
    world = await startWorld({ config: QUICK_EKS, apiServerArgs: log.apiServerArgs });
    world.endWith(() => log.close());
    const clusterApi = await startClusterApi(world, this);
    await world.startManager();
    const cluster = await clusterWithProfiles(world, 'prod', ['api', 'web']);
    world.aws.onCall(async ({ operation }, phase) => {
      // With backoff alone its next try could come between the end of the last profile and that of the role: see the page.
      if (phase === 'before' && operation === 'DeleteCluster' && world.aws.admin.profiles().length === 0)
        await eventually(async () => !(await finalizersOf(world, cluster.controlPlanePath)).includes(GUARD));
    });

    const since = Date.now();
    const { code, stderr } = await world.kubectl(['delete', 'cluster', 'prod', '--wait=false']);
    expect(code, stderr).to.equal(0);
    await clusterApi.clusterGone(cluster);
    await eventually(async () => {
      audit = await log.read();
      const last = audit.findLast(({ objectRef }) => objectRef.resource === 'clusters')?.object;
      expect(last?.metadata.finalizers ?? [], 'the record of the end').to.deep.equal([]);
    });
    const calls = world.aws.log.read();
    const goesFirst = calls.find(({ operation }) => operation === 'DeleteFargateProfile')?.nouns['fargateProfileName'];
    order = goesFirst === 'default_web' ? ['web', 'api'] : ['api', 'web'];
    recorded = messagesOf(audit, calls, castOf(...order), since);
  });
  after(() => world.finish());

  it('has a diagram of what happens: each request that was recorded, by whom it was made, in its order', () => {
    expect(deviationOf(recorded, parseSequence(diagram))).to.equal(undefined);
  });

  it('has a diagram that can be wrong', () => {
    const arrows = diagram.split('\n').flatMap((line, index) => (/>>|--x/.test(line) ? [index] : []));
    expect(arrows).to.have.length.above(20);
    for (const left of arrows) {
      const without = diagram.split('\n').toSpliced(left, 1).join('\n');
      expect(deviationOf(recorded, parseSequence(without)), `without line ${left}`).to.be.a('string');
    }
  });

  it('tells what the objects say meanwhile in their own words', () => {
    const rows = tableBelow('What the objects say meanwhile');
    expect(rows).to.have.length(3);
    for (const [kind, type, reason, message = ''] of rows) {
      // On the page `api` goes first; what is left out there may be anything.
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

  it('names reasons that there are', () => {
    const reasons = tableBelow('When it does not go on').flatMap(([cell = '']) => cell.split(', '));
    expect(reasons).to.have.length.above(8);
    expect(Object.keys(REASONS)).to.include.members(reasons.filter((reason) => reason !== 'Paused'));
  });
});
