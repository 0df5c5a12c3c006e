import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';
import { takeBlocks } from '../../docs/blocks.ts';
import { runCapaf } from '../capaf/run-capaf.ts';
import type { WorkloadCluster } from '../../world/workload/workload-cluster.ts';
import { useWorld } from '../../world/world.ts';
import { DrainScene, EKS_CLUSTER, replacing } from '../../world/workload/drain-scene.ts';

const OLD = 'default_web';
const NEW = '9999-default_web';
const NEWER = '9998-default_web';

describe('a drain on a real workload cluster', () => {
  const world = useWorld();
  let scene: DrainScene;
  let workload: WorkloadCluster;
  const page = takeBlocks('docs/drain.md', import.meta.url);

  before(async () => {
    scene = await DrainScene.start(world);
    ({ workload } = scene);
    const { spec } = parse(page.next('drainTimeout')) as { spec: object };
    await scene.apply({ selectors: [{ namespace: 'default' }], ...spec });
    await world.ready('web');
    await workload.deploy('web', 3);
    await workload.protect('web', 2);
    await scene.readyOn(OLD, 3);
  });

  it('reports an identity without permissions, and continues once it has the documented permissions', async () => {
    await scene.apply(replacing('5m', 'more'));
    await scene.shows(
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

  it('never leaves fewer Ready pods than the PodDisruptionBudget requires', async () => {
    workload.watchReady();
    await scene.gone(OLD);
    await scene.readyOn(NEW, 3);
    expect(workload.fewestReady).to.equal(2);
    const events = await world.event('web', 'EndedDrain');
    expect(events).to.include(
      `Normal EndedDrain: No pod of EKS fargate profile ${OLD} is left that can move to ${NEW}. With the profile, EKS stops 0 pods`,
    );
  });

  it('leaves pods that capaf shows without a kubeconfig', async () => {
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
    await scene.apply(replacing('75s', 'third'));
    await scene.shows('The disruption budget web needs 3 healthy pods and has 3 currently');
    await workload.controlPlane.stopApiServer('SIGKILL');
    await scene.shows('does not respond: listing pods: no answer: connect ECONNREFUSED');
    await scene.crash();
    await workload.controlPlane.startApiServer();
    await scene.shows('The disruption budget web needs 3 healthy pods and has 3 currently');
    await scene.gone(NEW);
    const events = await world.event('web', 'DrainTimedOut');
    expect(events.find((event) => event.includes('DrainTimedOut'))).to.match(
      /^Warning DrainTimedOut: The time to drain EKS fargate profile 9999-default_web is over \(spec\.updateStrategy\.replace\.drainTimeout\), and 3 pods have not moved to 9998-default_web\. With the profile, EKS stops 3 pods: default\/web-/,
    );
    await scene.readyOn(NEWER, 3);
  });

  it('reports an AWS identity that the API server does not accept', async () => {
    workload.authenticator.identities.clear();
    await scene.apply(replacing('15s', 'fourth'));
    await scene.shows("does not accept the controller's AWS identity. Give this identity an access entry");
    expect(workload.authenticator.refusals).to.include('no access entry for test');
    await scene.gone(NEWER);
  });
});
