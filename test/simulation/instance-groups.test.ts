import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { INSTANCE_GROUP_PLURAL, KEIKO_FINALIZER } from '../../api/external/index.ts';
import { KIND, PLURAL } from '../../api/v1beta2/index.ts';
import { ADDED_TAG } from '../../pkg/fargate/tags/tag-keys.ts';
import { acceptRequests, refuseRequests } from './phases/phase.ts';
import { ACCOUNT, MINUTE } from './world/cluster.ts';
import { INSTANCE_GROUPS } from './world/kinds.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const REGION = 'us-east-1';
const CLUSTER = 'tools';
const FLAGS = [`--allow-eks-cluster=default=${ACCOUNT}/${REGION}/to*`, '--instance-groups'];
// keiko's instance-manager gives the Fargate profile this name. It ends with the FNV-1a hash (64 bits) of the text
// `tools-default-web`.
const PROFILE = 'fargate-tools-11570656755408888675';
const ROLE = `${PROFILE}-role`;
const OURS = 'aws-fargate.cluster.x-k8s.io/instancegroup';
const SELECTORS = [{ namespace: 'a' }, { namespace: 'b', labels: { app: 'x' } }];

interface GroupParts {
  readonly fargate?: object;
  readonly spec?: object;
  readonly metadata?: object;
}

function newWorld(): SimulatedWorld {
  const world = new SimulatedWorld();
  world.awsRegion = REGION;
  world.aws.admin.createCluster({ name: CLUSTER });
  world.api.serve(INSTANCE_GROUPS);
  return world;
}

function apply(world: SimulatedWorld, { fargate = {}, spec = {}, metadata = {} }: GroupParts = {}): void {
  const part = { clusterName: CLUSTER, selectors: SELECTORS, ...fargate };
  world.create(INSTANCE_GROUP_PLURAL, {
    metadata: { name: 'web', ...metadata },
    spec: { provisioner: 'eks-fargate', strategy: { type: 'managed' }, 'eks-fargate': part, ...spec },
  });
}

const group = (world: SimulatedWorld): KubeObject | undefined => world.object(INSTANCE_GROUP_PLURAL, 'web');
const statusOf = (world: SimulatedWorld): { readonly currentState?: string; readonly message?: string } =>
  group(world)?.['status'] ?? {};
const patch = (world: SimulatedWorld, change: object): void => world.patch(INSTANCE_GROUP_PLURAL, 'web', change);
const until = (world: SimulatedWorld, state: string): Promise<void> =>
  world.until(`currentState ${state}`, () => statusOf(world).currentState === state, 30 * MINUTE);
const eksProfile = (world: SimulatedWorld) => world.eksProfile('', PROFILE);
const role = (world: SimulatedWorld) => world.role('', ROLE);
const remove = (world: SimulatedWorld): void => world.remove(INSTANCE_GROUP_PLURAL, 'web');
const gone = (world: SimulatedWorld): Promise<void> =>
  world.until('the group is gone', () => group(world) === undefined, 30 * MINUTE);
const eventsOf = (world: SimulatedWorld): readonly string[] =>
  world
    .objects('events')
    .filter(({ involvedObject }) => (involvedObject as { readonly kind?: string }).kind === 'InstanceGroup')
    .map(({ type, reason, message }) => `${String(type)} ${String(reason)}: ${String(message)}`);

async function untilEvent(world: SimulatedWorld, beginning: string, count = 1): Promise<readonly string[]> {
  const found = (): boolean => eventsOf(world).filter((text) => text.startsWith(beginning)).length >= count;
  await world.until(`event ${beginning}`, found, MINUTE);
  return eventsOf(world);
}

async function deleteAndFinish(world: SimulatedWorld): Promise<void> {
  remove(world);
  await gone(world);
  expect(world.profile('web'), 'the group outlives the profile').to.equal(undefined);
  await world.finish();
}

async function readyWorld(parts: GroupParts = {}): Promise<SimulatedWorld> {
  const world = newWorld();
  world.start(...FLAGS);
  apply(world, parts);
  await until(world, 'Ready');
  return world;
}

/**
 * Creates in AWS the resources that keiko creates for the InstanceGroup: a role without tags, and a Fargate profile
 * with the tags of the InstanceGroup.
 */
function createKeikoResources(world: SimulatedWorld, selectors: readonly object[] = SELECTORS): void {
  const { arn } = world.aws.admin.putRole({
    name: ROLE,
    trustPolicy: JSON.stringify({
      Version: '2012-10-17',
      Statement: [
        { Effect: 'Allow', Principal: { Service: 'eks-fargate-pods.amazonaws.com' }, Action: 'sts:AssumeRole' },
      ],
    }),
    attachedPolicies: ['arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy'],
  });
  world.aws.admin.putProfile({
    cluster: CLUSTER,
    name: PROFILE,
    podExecutionRoleArn: arn,
    selectors: selectors.map((selector) => ({ namespace: '', labels: {}, ...selector })),
    tags: { Team: 'a' },
  });
}

const OF_KEIKO: GroupParts = { fargate: { tags: [{ Team: 'a' }] }, metadata: { finalizers: [KEIKO_FINALIZER] } };

async function takenOverWorld(): Promise<SimulatedWorld> {
  const world = newWorld();
  createKeikoResources(world);
  apply(world, OF_KEIKO);
  world.patch(INSTANCE_GROUP_PLURAL, 'web', { status: { currentState: 'Error' } }, 'status');
  world.start(...FLAGS);
  await until(world, 'Ready');
  return world;
}

describe('an InstanceGroup with the provisioner eks-fargate', () => {
  it('becomes one AWSFargateProfile with the names from keiko, and is deleted after it', async () => {
    const world = newWorld();
    const finalizers: unknown[] = [];
    world.api.storage.listen(({ type, object }) => {
      if (type === 'ADDED' && object.kind === KIND) finalizers.push(group(world)?.metadata.finalizers);
    });
    world.start(...FLAGS);
    apply(world, { fargate: { tags: [{ Team: 'a' }, { Env: 'b' }] } });
    await until(world, 'Ready');
    expect(finalizers, 'finalizers when the AWSFargateProfile is created').to.deep.equal([[OURS]]);
    const { metadata, spec } = world.profile('web') ?? expect.fail('there is no AWSFargateProfile');
    const { apiVersion, kind, metadata: owner } = group(world) ?? expect.fail('there is no InstanceGroup');
    expect(metadata.ownerReferences).to.deep.equal([
      { apiVersion, kind, name: 'web', uid: owner.uid, controller: true },
    ]);
    expect(spec).to.deep.include({ eksCluster: { name: CLUSTER }, selectors: SELECTORS, adoptionPolicy: 'Always' });
    expect(owner.finalizers).to.deep.equal([OURS]);
    expect(eksProfile(world)).to.deep.include({ status: 'ACTIVE', podExecutionRoleArn: role(world)?.arn });
    expect(eksProfile(world)?.tags).to.include({ Team: 'a', Env: 'b' });
    expect(await untilEvent(world, 'Normal Ready: ')).to.have.length(1);

    remove(world);
    await until(world, 'Deleting');
    expect(group(world)?.metadata.finalizers).to.deep.equal([OURS]);
    await gone(world);
    expect(world.profile('web')).to.equal(undefined);
    await world.clock.advance(MINUTE);
    expect(world.problems()).to.deep.equal([]);
    await world.finish();
  });

  it('shows the states of its AWSFargateProfile in the words of keiko', async () => {
    const world = newWorld();
    const seen: string[] = [];
    world.api.storage.listen(({ kind, object }) => {
      const { currentState } = (object['status'] ?? {}) as { readonly currentState?: string };
      if (kind === INSTANCE_GROUPS && currentState !== undefined && seen.at(-1) !== currentState)
        seen.push(currentState);
    });
    world.start(...FLAGS);
    apply(world);
    await until(world, 'Ready');
    expect(statusOf(world).message).to.equal(
      'AWSFargateProfile default/web: The Fargate profile is ACTIVE and matches the spec',
    );
    await deleteAndFinish(world);
    expect(seen).to.deep.equal(['InitCreate', 'ReconcileModifying', 'Ready', 'Deleting']);
  });

  it('follows changes that EKS can make', async () => {
    const world = await readyWorld();
    patch(world, { spec: { 'eks-fargate': { tags: { Team: 'b' } } } });
    await world.until('the tag', () => eksProfile(world)?.tags['Team'] === 'b');
    patch(world, { spec: { 'eks-fargate': { tags: null } } });
    await world.until('no tag', () => eksProfile(world)?.tags['Team'] === undefined);
    await until(world, 'Ready');
    await deleteAndFinish(world);
  });

  it('keeps the region and the deletion policy that a user sets on the AWSFargateProfile', async () => {
    const world = await readyWorld();
    world.patch(PLURAL, 'web', { spec: { eksCluster: { region: REGION }, deletionPolicy: 'Delete' } });
    await world.clock.advance(15 * MINUTE);
    expect(world.profile('web')?.['spec']).to.deep.include({
      eksCluster: { name: CLUSTER, region: REGION },
      deletionPolicy: 'Delete',
    });
    await deleteAndFinish(world);
  });

  it('has an error with the field and the right value, and is taken up once it is corrected', async () => {
    const world = newWorld();
    world.start(...FLAGS);
    apply(world, { fargate: { selectors: [{ labels: { app: 'x' } }] } });
    await until(world, 'Error');
    expect(statusOf(world).message).to.include('spec.eks-fargate.selectors[0]: expected namespace');
    await untilEvent(world, `Warning InvalidSpec: ${statusOf(world).message}`);
    expect(world.profile('web')).to.equal(undefined);
    patch(world, { spec: { 'eks-fargate': { selectors: SELECTORS } } });
    await until(world, 'Ready');
    patch(world, { spec: { strategy: { type: 'rollingUpdate' } } });
    await until(world, 'Error');
    expect(statusOf(world).message).to.include('The Fargate profile stays as it is');
    await world.clock.advance(30 * MINUTE);
    expect(eksProfile(world)?.status).to.equal('ACTIVE');
    await deleteAndFinish(world);
  });

  it('reports which field to set if a part is missing', async () => {
    const world = newWorld();
    world.start(...FLAGS);
    apply(world, { spec: { strategy: undefined } });
    await until(world, 'Error');
    expect(statusOf(world).message).to.equal('spec.strategy is missing: set spec.strategy.type to managed');
    patch(world, { spec: { strategy: { type: 'managed' }, 'eks-fargate': null } });
    const told = 'spec.eks-fargate is missing: set spec.eks-fargate with clusterName and selectors';
    await world.until('it is told', () => statusOf(world).message === told);
    remove(world);
    await gone(world);
    await world.finish();
  });

  it('has the error of its AWSFargateProfile, for example of an EKS cluster that the operator does not allow', async () => {
    const world = newWorld();
    world.start(...FLAGS);
    apply(world, { fargate: { clusterName: 'other' } });
    await until(world, 'Error');
    expect(statusOf(world).message).to.match(/^AWSFargateProfile default\/web: .*other/);
    await untilEvent(world, 'Warning NotAllowedByOperator: ');
    expect(world.aws.admin.calls()).to.deep.equal([]);
    await deleteAndFinish(world);
  });

  it('gets a new AWSFargateProfile if its AWSFargateProfile is deleted', async () => {
    const world = await readyWorld();
    const uid = world.profile('web')?.metadata.uid;
    world.delete('web');
    await until(world, 'ReconcileModifying');
    await until(world, 'Ready');
    expect(world.profile('web')?.metadata.uid).not.to.equal(uid);
    await deleteAndFinish(world);
  });

  it('does not change an AWSFargateProfile that has the same name but is not its own', async () => {
    const world = newWorld();
    world.start(...FLAGS);
    world.applyWith('web', { clusterName: undefined, eksCluster: { name: CLUSTER, region: REGION } });
    await world.ready('web');
    const before = world.profile('web');
    apply(world);
    await until(world, 'Error');
    await untilEvent(world, 'Warning ProfileNameTaken: AWSFargateProfile default/web exists');
    remove(world);
    await gone(world);
    expect(world.profile('web')).to.deep.equal(before);
    await world.deleteAndFinish('web');
  });

  it('takes up an AWSFargateProfile that has lost its owner, for example in a restore', async () => {
    const world = await readyWorld();
    world.patch(PLURAL, 'web', { metadata: { ownerReferences: null } });
    await world.until('the owner', () => world.profile('web')?.metadata.ownerReferences?.[0]?.name === 'web');
    await deleteAndFinish(world);
  });

  it('leaves its AWSFargateProfile behind when it is deleted with --cascade=orphan', async () => {
    const world = await readyWorld();
    patch(world, { metadata: { finalizers: [OURS, 'orphan'] } });
    remove(world);
    await world.clock.advance(MINUTE);
    expect(world.profile('web')?.metadata.deletionTimestamp).to.equal(undefined);
    // After `kubectl delete --cascade=orphan` of an InstanceGroup, the garbage collector of Kubernetes removes the
    // owner reference from the AWSFargateProfile, and its own finalizer `orphan` from the InstanceGroup. The simulation
    // has no garbage collector, so the test removes both.
    world.patch(PLURAL, 'web', { metadata: { ownerReferences: null } });
    patch(world, { metadata: { finalizers: [OURS] } });
    await gone(world);
    expect(world.isReady('web')).to.equal(true);
    await world.deleteAndFinish('web');
  });

  it('is left alone while it is paused', async () => {
    const world = await readyWorld();
    patch(world, { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } });
    await world.clock.advance(MINUTE);
    remove(world);
    await world.clock.advance(15 * MINUTE);
    expect(world.profile('web')?.metadata.deletionTimestamp).to.equal(undefined);
    patch(world, { metadata: { annotations: null } });
    await gone(world);
    await world.finish();
  });

  it('is reconciled by the manager with its watch filter only', async () => {
    const world = newWorld();
    world.start(...FLAGS, '--watch-filter=blue');
    apply(world);
    await world.clock.advance(10 * MINUTE);
    expect(group(world)?.metadata.finalizers ?? []).to.deep.equal([]);
    patch(world, { metadata: { labels: { 'cluster.x-k8s.io/watch-filter': 'blue' } } });
    await until(world, 'Ready');
    await deleteAndFinish(world);
  });
});

describe('an InstanceGroup that leaves eks-fargate', () => {
  const leave = async (world: SimulatedWorld): Promise<void> => {
    patch(world, { spec: { provisioner: 'eks' } });
    await until(world, 'Error');
    expect(statusOf(world).message).to.equal(
      'spec.provisioner is no longer eks-fargate. AWSFargateProfile default/web and its Fargate profile stay as they are. Set spec.provisioner back to eks-fargate, or delete the InstanceGroup, which deletes both',
    );
    await untilEvent(world, 'Warning ProvisionerChanged: spec.provisioner is no longer eks-fargate');
    await world.clock.advance(30 * MINUTE);
    expect(eksProfile(world)?.status).to.equal('ACTIVE');
  };

  it('has an error, keeps its profile, and is Ready when it comes back', async () => {
    const world = await readyWorld();
    await leave(world);
    patch(world, { spec: { provisioner: 'eks-fargate' } });
    await until(world, 'Ready');
    await deleteAndFinish(world);
  });

  it('is deleted with its profile, and keeps the finalizer of keiko, which may have made something else of it', async () => {
    const world = await takenOverWorld();
    await leave(world);
    remove(world);
    await world.gone('web');
    await world.until('the release', () => !group(world)?.metadata.finalizers?.includes(OURS));
    expect(eksProfile(world)).to.equal(undefined);
    expect(group(world)?.metadata.finalizers).to.deep.equal([KEIKO_FINALIZER]);
    await world.until('it is told', () => statusOf(world).message?.includes(KEIKO_FINALIZER) === true);
    patch(world, { metadata: { finalizers: [] } });
    await gone(world);
    await world.finish();
  });
});

describe('an InstanceGroup whose profile does not follow it', () => {
  const FILTER = 'cluster.x-k8s.io/watch-filter';
  const labelled = (filter: string) => ({ metadata: { labels: { [FILTER]: filter } } });
  const newTags = { spec: { 'eks-fargate': { tags: [{ Team: 'b' }] } } };

  /**
   * Returns a simulation with an InstanceGroup of the manager `blue`, which then gets the label of the manager `green`.
   */
  async function movedWorld(): Promise<SimulatedWorld> {
    const world = newWorld();
    for (const filter of ['blue', 'green']) world.start(...FLAGS, '--leader-elect', `--watch-filter=${filter}`);
    apply(world, labelled('blue'));
    await until(world, 'Ready');
    patch(world, { ...labelled('green'), ...newTags });
    return world;
  }

  it('says so if another manager has the profile, and follows when the profile gets the same label', async () => {
    const world = await movedWorld();
    await until(world, 'Error');
    expect(statusOf(world).message).to.equal(
      `AWSFargateProfile default/web is not updated from this InstanceGroup: its label ${FILTER} is "blue", and that of this InstanceGroup is "green". Give both the same label`,
    );
    await untilEvent(world, 'Warning OtherWatchFilter: AWSFargateProfile default/web is not updated from');
    world.patch(PLURAL, 'web', labelled('green'));
    await until(world, 'Ready');
    await world.until('the tag', () => eksProfile(world)?.tags['Team'] === 'b');
    await deleteAndFinish(world);
  });

  it('says so if only the profile is moved, and if its label is taken away', async () => {
    const world = newWorld();
    world.start(...FLAGS, '--watch-filter=blue');
    apply(world, labelled('blue'));
    await until(world, 'Ready');
    world.patch(PLURAL, 'web', { metadata: { labels: { [FILTER]: null } } });
    await until(world, 'Error');
    expect(statusOf(world).message).to.include(`it has no label ${FILTER}, and that of this InstanceGroup is "blue"`);
    world.patch(PLURAL, 'web', labelled('blue'));
    await until(world, 'Ready');
    await deleteAndFinish(world);
  });

  it('waits for the other manager when it is deleted, and says which one', async () => {
    const world = await movedWorld();
    await until(world, 'Error');
    const [blue] = world.managers;
    if (blue !== undefined) await world.stop(blue);
    remove(world);
    await world.until('it is told', () => statusOf(world).message?.includes('by another manager: its label') === true);
    expect(statusOf(world)).to.deep.equal({
      currentState: 'Deleting',
      message: `AWSFargateProfile default/web is being deleted by another manager: its label ${FILTER} is "blue", and that of this InstanceGroup is "green". If that manager does not run, give both the same label`,
    });
    await world.clock.advance(10 * MINUTE);
    expect(group(world)?.metadata.finalizers).to.deep.equal([OURS]);
    world.start(...FLAGS, '--leader-elect', '--watch-filter=blue');
    await gone(world);
    await world.finish();
  });

  it('says so if the API server refuses the change', async () => {
    const world = await readyWorld();
    refuseRequests(world, 'PATCH', /\/awsfargateprofiles\/[^/]+$/, 403, 'denied by policy');
    patch(world, newTags);
    await until(world, 'Error');
    await untilEvent(world, 'Warning APIServerRefused: ');
    acceptRequests(world);
    await until(world, 'Ready');
    await world.until('the tag', () => eksProfile(world)?.tags['Team'] === 'b');
    await deleteAndFinish(world);
  });

  it('says so, in an event too, if AWS or the operator refuses the change and the profile is Ready all the same', async () => {
    const world = await readyWorld();
    const [manager] = world.managers;
    manager?.kill();
    world.start(...FLAGS, '--require-permissions-boundary=arn:aws:iam::*:policy/missing');
    await world.clock.advance(20 * MINUTE);
    expect(statusOf(world).currentState).to.equal('Ready');
    await untilEvent(world, `Warning Refused: ${statusOf(world).message}`);
    await deleteAndFinish(world);
  });

  it('says so if the profile is paused, also when both are deleted', async () => {
    const world = await readyWorld();
    world.patch(PLURAL, 'web', { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } });
    await world.until('the pause', () => world.condition('web', 'Paused')?.status === 'True');
    patch(world, newTags);
    await world.until('it is told', () => statusOf(world).message?.includes('paused annotation') === true);
    expect(statusOf(world).currentState).to.equal('InitUpdate');
    remove(world);
    await world.until('it is told', () => statusOf(world).message?.includes('waits for the end of the pause') === true);
    expect(statusOf(world).currentState).to.equal('Deleting');
    world.patch(PLURAL, 'web', { metadata: { annotations: null } });
    await gone(world);
    await world.finish();
  });

  it('has the error of a profile that cannot be deleted', async () => {
    const world = await readyWorld();
    const kind = 'error:AccessDeniedException:User is not authorized to perform eks:DeleteFargateProfile' as const;
    world.aws.admin.addFault({ operation: 'DeleteFargateProfile', kind });
    world.delete('web');
    await until(world, 'Error');
    expect(statusOf(world).message).to.include('eks:DeleteFargateProfile');
    await untilEvent(world, 'Warning AccessDenied: ');
    world.aws.admin.clearFaults();
    await until(world, 'Ready');
    await deleteAndFinish(world);
  });

  it('has an error if its profile cannot be read, also when both are deleted', async () => {
    const world = await readyWorld();
    world.patch(PLURAL, 'web', { spec: { deletionPolicy: 'Sometimes' } });
    await until(world, 'Error');
    remove(world);
    await world.until('the deletion', () => world.profile('web')?.metadata.deletionTimestamp !== undefined);
    await world.clock.advance(MINUTE);
    expect(statusOf(world).currentState).to.equal('Error');
    expect(statusOf(world).message).to.include('spec.deletionPolicy');
    world.patch(PLURAL, 'web', { spec: { deletionPolicy: 'Delete' } });
    await gone(world);
    await world.finish();
  });
});

describe('the InstanceGroup controller', () => {
  it('updates the messages of all groups, even if text from one group must be truncated', async () => {
    const world = newWorld();
    world.start(...FLAGS);
    const emojis = (count: number): object => ({ strategy: { type: 'x'.repeat(count) + '😀'.repeat(100) } });
    for (const index of [0, 1]) apply(world, { metadata: { name: `emoji-${index}` }, spec: emojis(index) });
    apply(world, { spec: { strategy: { type: 'one' } } });
    await world.until('web has an error', () => statusOf(world).message?.includes('got "one"') === true);
    patch(world, { spec: { strategy: { type: 'other' } } });
    await world.until('web has another error', () => statusOf(world).message?.includes('got "other"') === true);
    for (const index of [0, 1]) world.remove(INSTANCE_GROUP_PLURAL, `emoji-${index}`);
    await deleteAndFinish(world);
  });

  it('does not change groups with other provisioners', async () => {
    const world = newWorld();
    world.start(...FLAGS);
    apply(world, { spec: { provisioner: 'eks-managed' } });
    const before = group(world);
    await world.clock.advance(10 * MINUTE);
    expect(group(world)).to.deep.equal(before);
    expect(world.profile('web')).to.equal(undefined);
    await world.finish();
  });

  it('does nothing without --instance-groups', async () => {
    const world = newWorld();
    world.start(FLAGS[0] ?? '');
    apply(world);
    const before = group(world);
    await world.clock.advance(10 * MINUTE);
    expect(group(world)).to.deep.equal(before);
    await world.finish();
  });

  it('waits for the CRD of InstanceGroups, and starts without it', async () => {
    const world = newWorld();
    world.api.unserve(INSTANCE_GROUP_PLURAL);
    world.start(...FLAGS);
    world.applyWith('other', {});
    await world.ready('other');
    world.api.serve(INSTANCE_GROUPS);
    apply(world);
    await until(world, 'Ready');
    world.delete('other');
    await world.gone('other');
    await deleteAndFinish(world);
  });
});

describe('an InstanceGroup that keiko has begun', () => {
  it('is taken over with two tags as the only change in AWS, and lets its role be when it is deleted', async () => {
    const world = await takenOverWorld();
    expect(world.mutations().map(({ operation }) => operation)).to.deep.equal(['TagResource']);
    expect(eksProfile(world)?.tags).to.deep.equal({
      Team: 'a',
      'sigs.k8s.io/cluster-api-provider-aws-fargate/owner': 'default/web',
      [ADDED_TAG]: eksProfile(world)?.tags[ADDED_TAG],
    });
    const kept = `Normal RoleKept: IAM role ${ROLE} existed before.`;
    await untilEvent(world, kept);
    const before = role(world);
    const events = eventsOf(world).length;
    remove(world);
    await gone(world);
    expect(eksProfile(world)).to.equal(undefined);
    expect(role(world)).to.deep.equal(before);
    await world.until('the event about the role', () => eventsOf(world).length > events);
    expect(eventsOf(world).at(-1)).to.include(kept);
    await world.finish();
  });

  it('shows the difference where the old bug of keiko gave all selectors the last namespace', async () => {
    const world = newWorld();
    createKeikoResources(world, [{ namespace: 'b' }, { namespace: 'b', labels: { app: 'x' } }]);
    apply(world, OF_KEIKO);
    world.start(...FLAGS);
    await until(world, 'Error');
    expect(statusOf(world).message).to.match(
      /selectors are "namespace b; namespace b with app=x" in AWS.*\. keiko before v0\.19\.0 gave all/,
    );
    expect(world.mutations()).to.deep.equal([]);
    const selectors = [{ namespace: 'b' }, { namespace: 'b', labels: { app: 'x' } }];
    patch(world, { spec: { 'eks-fargate': { selectors } } });
    await until(world, 'Ready');
    expect(world.mutations().map(({ operation }) => operation)).to.deep.equal(['TagResource']);
    await deleteAndFinish(world);
  });

  it('keeps the finalizer of keiko if it is deleted before it is taken over', async () => {
    const world = newWorld();
    createKeikoResources(world);
    apply(world, OF_KEIKO);
    remove(world);
    world.start(...FLAGS);
    await until(world, 'Error');
    expect(statusOf(world).message).to.include(`Delete Fargate profile ${PROFILE} and role ${ROLE}`);
    expect(world.mutations()).to.deep.equal([]);
    expect(group(world)?.metadata.finalizers).to.deep.equal([KEIKO_FINALIZER]);
    patch(world, { metadata: { finalizers: [] } });
    await gone(world);
    await world.finish();
  });

  it('keeps the finalizer of keiko if its profile differs and could not be taken over', async () => {
    const world = newWorld();
    createKeikoResources(world, [{ namespace: 'z' }]);
    apply(world, OF_KEIKO);
    world.start(...FLAGS);
    await until(world, 'Error');
    remove(world);
    await world.gone('web');
    await world.until('it is told', () => statusOf(world).message?.includes('took over') === true);
    expect(group(world)?.metadata.finalizers).to.deep.equal([KEIKO_FINALIZER]);
    expect(eksProfile(world)?.status).to.equal('ACTIVE');
    patch(world, { metadata: { finalizers: [] } });
    await gone(world);
    await world.finish();
  });
});

describe('an InstanceGroup in trouble', () => {
  it('gets its AWSFargateProfile within two minutes, once the API server accepts it again', async () => {
    const world = newWorld();
    world.start(...FLAGS);
    refuseRequests(world, 'POST', /\/awsfargateprofiles$/, 500, 'etcdserver: request timed out');
    apply(world);
    await world.clock.advance(30 * MINUTE);
    expect(world.profile('web')).to.equal(undefined);
    acceptRequests(world);
    await world.until('the creation', () => world.profile('web') !== undefined, 2 * MINUTE);
    await deleteAndFinish(world);
  });

  it('waits for a sibling that EKS is changing', async () => {
    const world = newWorld();
    world.start(...FLAGS);
    world.applyWith('sibling', { clusterName: undefined, eksCluster: { name: CLUSTER, region: REGION } });
    await world.until('it creates', () => world.condition('sibling')?.reason === 'Creating');
    apply(world);
    await world.until('it waits', () => statusOf(world).message?.includes('EKS changes only one') === true);
    expect(statusOf(world).currentState).to.equal('InitCreate');
    await until(world, 'Ready');
    world.delete('sibling');
    await world.gone('sibling');
    await deleteAndFinish(world);
  });

  it('ends as without, when the manager is killed after any of its changes in AWS and in the API server', async () => {
    const life = async (killAfter: number): Promise<number> => {
      const world = newWorld();
      let manager = world.start(...FLAGS);
      let changes = 0;
      world.onChange = () => {
        changes += 1;
        if (changes !== killAfter) return;
        manager.kill();
        manager = world.start(...FLAGS);
      };
      apply(world);
      await until(world, 'Ready');
      expect(world.aws.admin.profiles().filter(({ cluster }) => cluster === CLUSTER)).to.have.length(1);
      await deleteAndFinish(world);
      return changes;
    };
    const all = await life(0);
    expect(all).to.be.above(20);
    for (let each = 1; each <= all; each++) await life(each);
  });
});
