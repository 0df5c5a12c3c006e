import { expect } from 'chai';
import { json } from 'controller-runtime/testing';
import { MINUTE } from './world/cluster.ts';
import { INSTANCE_GROUPS } from './world/kinds.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const REMEDY =
  'Apply the roles and role bindings of the manager again (config/rbac), or undo the changes that were made to them';
const KINDS = [
  'awsclustercontrolleridentities.infrastructure.cluster.x-k8s.io',
  'awsclusterroleidentities.infrastructure.cluster.x-k8s.io',
  'awsclusterstaticidentities.infrastructure.cluster.x-k8s.io',
  'awsfargateprofiles.infrastructure.cluster.x-k8s.io',
  'awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io',
  'clusters.cluster.x-k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'instancegroups.instancemgr.keikoproj.io',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'namespaces',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
];

describe('a manager without permissions', () => {
  it('logs the remedy for each kind that it cannot list, and then for its Lease', async () => {
    const world = new SimulatedWorld();
    world.api.serve(INSTANCE_GROUPS);
    const deny = (denied: RegExp): void => {
      const message = 'User "capaf" cannot list resource "example"';
      world.api.intercept = ({ path }) =>
        denied.test(path) ? json(403, { kind: 'Status', code: 403, message }) : undefined;
    };
    deny(/[?&]limit=/);
    const instanceGroups = ['--instance-groups', '--allow-eks-cluster=default=123456789012/us-east-1/*'];
    const manager = world.start('--leader-elect', '--manage-crd', ...instanceGroups);
    await world.clock.advance(MINUTE);
    const failures = manager.logger.linesWith('The reflector failed and will try again');
    const remedies = new Map(failures.map(({ keys }) => [keys['resource'], keys['remedy']]));
    expect(Object.fromEntries(remedies)).to.deep.equal(Object.fromEntries(KINDS.map((kind) => [kind, REMEDY])));
    deny(/\/leases/);
    await world.clock.advance(MINUTE);
    const [line] = manager.logger.linesWith('Failed to acquire the lease');
    expect(line?.keys).to.include({ remedy: REMEDY });
  });
});
