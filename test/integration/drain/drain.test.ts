import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';
import { takeBlocks } from '../../docs/blocks.ts';
import { runCapaf } from '../capaf/run-capaf.ts';
import { eventually } from '../../support/eventually.ts';
import { WorkloadCluster } from '../../world/workload/workload-cluster.ts';
import { type World, fargateProfile, startWorld } from '../../world/world.ts';

const EKS_CLUSTER = 'default_prod-control-plane';
const OLD = 'default_web';
const NEW = '9999-default_web';
const NEWER = '9998-default_web';

const replacing = (drainTimeout: string, ...more: readonly string[]): object => ({
  selectors: [{ namespace: 'default' }, ...more.map((namespace) => ({ namespace }))],
  updateStrategy: { type: 'Replace', replace: { drainTimeout } },
});

// Two real API servers, real Deployment, ReplicaSet and disruption controllers; kubelet and EKS's webhooks are played.
describe('a drain on a real workload cluster', () => {
  let world: World;
  let workload: WorkloadCluster;
  const page = takeBlocks('docs/drain.md', import.meta.url);
  const message = async (): Promise<string> => {
    const object = await world.profile('web');
    return object?.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
  };
  const shows = (text: string): Promise<string> =>
    eventually(
      async () => {
        const shown = await message();
        if (!shown.includes(text)) throw new Error(shown);
        return shown;
      },
      { what: `the message "${text}"` },
    );
  const readyOn = (profile: string, count: number): Promise<unknown> =>
    eventually(
      async () => {
        const names = await workload.readyOn(profile);
        if (names.length !== count) throw new Error(`${names.length} Ready pods`);
        return true;
      },
      { what: `${count} Ready pods on ${profile}` },
    );
  const gone = (profile: string): Promise<unknown> =>
    eventually(
      async () => {
        if (world.awsView.profile(profile) !== undefined) throw new Error(await message());
        return true;
      },
      { what: `the deletion of ${profile}` },
    );

  before(async () => {
    world = await startWorld();
    await world.createEksCluster('prod');
    workload = await WorkloadCluster.start(world.aws.admin, { name: EKS_CLUSTER });
    world.addCleanup(() => workload.stop());
    await workload.startControllers();
    await world.startManager();
    const { spec } = parse(page.next('drainTimeout')) as { spec: object };
    await world.apply(fargateProfile('web', { selectors: [{ namespace: 'default' }], ...spec }));
    await world.ready('web');
    await workload.deploy('web', 3);
    await workload.protect('web', 2);
    await readyOn(OLD, 3);
  });
  after(() => world.finish());

  it('is told when the identity has no rights, and goes on when it gets those of the page', async () => {
    await world.apply(fargateProfile('web', replacing('5m', 'more')));
    await shows(
      'says: pods is forbidden: User "capaf" cannot list resource "pods" in API group "" at the cluster scope',
    );
    expect(await workload.readyOn(OLD)).to.have.length(3);
    for (const document of parseAllDocuments(page.next('kind: ClusterRoleBinding'))) {
      const object = document.toJS() as { kind: string; metadata: { name: string } };
      const path = `/apis/rbac.authorization.k8s.io/v1/${object.kind.toLowerCase()}s/${object.metadata.name}`;
      await workload.controlPlane.api.apply(path, object);
    }
    expect(workload.authenticator.refusals).to.deep.equal([]);
  });

  it('never leaves fewer Ready pods than the PodDisruptionBudget demands', async () => {
    workload.watchReady();
    await gone(OLD);
    await readyOn(NEW, 3);
    expect(workload.fewestReady).to.equal(2);
    const events = await world.event('web', 'EndedDrain');
    expect(events).to.include(
      `Normal EndedDrain: No pod of EKS fargate profile ${OLD} is left that can move to ${NEW}. With the profile, EKS stops 0 pods`,
    );
  });

  it('shows the pods of the EKS cluster by the same way in capaf, without a kubeconfig', async () => {
    const pods = await runCapaf(world, ['pods', '--eks-cluster', EKS_CLUSTER, '-A', '-o', 'json']);
    expect(JSON.parse(pods.stdout), pods.stderr).to.deep.include({ namespace: null }).and.nested.include({
      'total.pods': 3,
      'profiles[0].name': NEW,
    });
    const { stdout, stderr } = await runCapaf(world, ['status', '--eks-cluster', EKS_CLUSTER]);
    expect(stdout, stderr).to.match(/9999-default_web.*ACTIVE.*pods.*3/);
  });

  it('waits for a budget that allows nothing, survives a restart of both servers and of the manager, and ends at the timeout', async () => {
    await workload.protect('web', '100%');
    await world.apply(fargateProfile('web', replacing('75s', 'third')));
    await shows('The disruption budget web needs 3 healthy pods and has 3 currently');
    await workload.controlPlane.stopApiServer('SIGKILL');
    await shows('does not answer: listing pods: no answer: connect ECONNREFUSED');
    world.manager.kill('SIGKILL');
    await world.waitForManagerExit(world.manager);
    await workload.controlPlane.startApiServer();
    await world.startManager();
    await shows('The disruption budget web needs 3 healthy pods and has 3 currently');
    await gone(NEW);
    const events = await world.event('web', 'DrainTimedOut');
    expect(events.find((event) => event.includes('DrainTimedOut'))).to.match(
      /^Warning DrainTimedOut: The time to drain EKS fargate profile 9999-default_web is over \(spec\.updateStrategy\.replace\.drainTimeout\), and 3 pods have not moved to 9998-default_web\. With the profile, EKS stops 3 pods: default\/web-/,
    );
    await readyOn(NEWER, 3);
  });

  it('is told when the API server does not know the identity', async () => {
    workload.authenticator.identities.clear();
    await world.apply(fargateProfile('web', replacing('15s', 'fourth')));
    await shows('does not accept the AWS identity of the controller. Give this identity an access entry');
    expect(workload.authenticator.refusals).to.include('no access entry for test');
    await gone(NEWER);
  });
});
