import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { renderKustomization } from '../../../hack/release/kustomize.ts';
import { ROOT, takeBlocks } from '../../docs/blocks.ts';
import { type Terminal, openTerminal } from '../../docs/terminal.ts';
import { callsFromNow, profileMutations } from '../../world/aws/calls.ts';
import { QUICK_EKS } from '../../world/cluster-api/cluster-api.ts';
import type { RunningManager } from '../../world/manager/manager.ts';
import { fargateProfile, useWorld } from '../../world/world.ts';

const FILTER = 'cluster.x-k8s.io/watch-filter';
const SHARDS = ['blue', 'green'] as const;
/**
 * Command line arguments of the manager's Deployments that the test leaves to `startManager`, for example because two
 * managers on one machine need different ports.
 */
const REPLACED_ARGS = /^--(health-addr|diagnostics-address|insecure-diagnostics|v)=/;

interface Deployment {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector: { readonly matchLabels: object };
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] };
    };
  };
}

/**
 * Returns the manifest of an AWSFargateProfile for one of the managers. The part of the name before the hyphen becomes
 * the watch-filter label, which selects the manager.
 */
const profileOf = (name: string): object =>
  fargateProfile(name, { clusterName: 'shared' }, { labels: { [FILTER]: name.split('-')[0] } });

describe('the two managers of config/sharding', () => {
  const world = useWorld({ config: QUICK_EKS });
  let terminal: Terminal;
  let deployments: readonly Deployment[];

  before(async () => {
    terminal = await openTerminal(world.controlPlane, { directory: ROOT });
    world.addCleanup(() => terminal.close());
    // The AWSFargateProfiles `orphan` and `old` are older than the managers and have no watch-filter label. A later
    // test checks that the managers ignore them until a user adds the label.
    await world.createNamespace('team-a');
    await world.apply(fargateProfile('orphan'), fargateProfile('old', {}, { namespace: 'team-a' }));
    await terminal.run(page.next('kubectl apply'));
    deployments = parseAllDocuments(renderKustomization(world.controlPlane.kubectlPath, `${ROOT}config/sharding`))
      .map((document) => document.toJS() as Deployment)
      .filter(({ kind }) => kind === 'Deployment');
    await world.createEksCluster('shared');
    for (const [index, { spec }] of deployments.entries()) await startShard(SHARDS[index] ?? '', spec);
  });
  const page = takeBlocks('docs/sharding.md', import.meta.url);

  function startShard(name: string, { template }: Deployment['spec']): Promise<RunningManager> {
    const args = template.spec.containers.flatMap((container) => container.args);
    const flags = [...args.filter((arg) => !REPLACED_ARGS.test(arg)), '--manager-namespace=capaf-system'];
    return world.startManager({ name, flags });
  }

  it('have Deployments that do not select the pods of each other', () => {
    expect(deployments.map(({ metadata }) => metadata.name)).to.deep.equal(
      SHARDS.map((shard) => `capaf-controller-manager-${shard}`),
    );
    const [blue, green] = deployments.map(({ spec }) => spec);
    expect(green?.template.metadata.labels).to.include(green?.selector.matchLabels);
    expect(green?.template.metadata.labels).to.not.include(blue?.selector.matchLabels);
  });

  it('have a Lease each, and reconcile the profiles of one EKS cluster without an error', async () => {
    const names = ['blue-web', 'green-web', 'blue-api'];
    const calls = callsFromNow(world.aws);
    await world.apply(...names.map((name) => profileOf(name)));
    for (const name of names) await world.ready(name);
    const { items } = await world.controlPlane.api.list('/apis/coordination.k8s.io/v1/namespaces/capaf-system/leases');
    expect(items.map(({ metadata }) => metadata.name)).to.have.members(
      SHARDS.map((shard) => `capaf-leader-election.filter-${shard}`),
    );
    // EKS must have accepted exactly one CreateFargateProfile call for each AWSFargateProfile. EKS may have refused
    // earlier calls of one manager while EKS was creating a Fargate profile for the other manager.
    const creations = profileMutations(calls);
    expect(creations.filter((creation) => !creation.endsWith('ResourceInUseException'))).to.have.members(
      names.map((name) => `Create default_${name}`),
    );
    for (const name of names)
      expect((await world.events(name)).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
  });

  it('leave older objects without a matching label alone, and kubectl lists them', async () => {
    await terminal.run(page.next('kubectl label'));
    expect(await terminal.run(page.next('notin (blue,green)'))).to.match(/^NAMESPACE .*\ndefault +orphan .*\n$/);
    const orphan = await world.profile('orphan');
    expect(orphan?.metadata.finalizers).to.equal(undefined);
    expect(orphan?.status).to.deep.equal({ observedGeneration: -1 });
    await world.condition('old', 'Ready', { status: 'False' }, { namespace: 'team-a' });
    await world.delete('orphan');
    await world.gone('orphan');
    await world.delete('old', 'team-a');
    await world.gone('old', { namespace: 'team-a' });
  });

  it('get no objects without a matching label: the policy refuses them, and lets older ones be changed and deleted', async () => {
    for (const object of [profileOf('red-web'), fargateProfile('web', { clusterName: 'shared' })]) {
      const { code, stderr } = await world.kubectl(['apply', '-f', '-'], JSON.stringify(object));
      expect(code).to.not.equal(0);
      expect(stderr).to.contain('Set the label to blue or green');
    }
    const withoutLabel = world.patch('blue-web', { metadata: { labels: { [FILTER]: null } } });
    expect(await withoutLabel.then(() => 'accepted', String)).to.contain('Set the label to blue or green');
    await world.patch('blue-web', { metadata: { annotations: { note: 'changed' } } });
  });
});
