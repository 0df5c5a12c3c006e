import { expect } from 'chai';
import { Store } from 'controller-runtime/cache';
import { keyOf, type KubeObject } from 'controller-runtime/client';
import { type FakeKind, MemoryLogger } from 'controller-runtime/testing';
import { INSTANCE_GROUP_KIND } from '../../api/external/index.ts';
import { PROFILE_KIND, newApi } from '../awsfargateprofile/testing/api.ts';
import { Actions, Conflict, INSTANCE_GROUPS } from './actions.ts';
import { GROUP_FINALIZER } from './decide.ts';

const KIND: FakeKind = { ...INSTANCE_GROUPS, kind: INSTANCE_GROUP_KIND, versions: [INSTANCE_GROUPS.version] };

/** Returns an InstanceGroup that is being deleted, and its AWSFargateProfile, as in the caches. */
function newFixture() {
  const { server, client } = newApi();
  server.serve(KIND);
  const { storage } = server;
  const created = storage.create(KIND, 'team-a', { metadata: { name: 'web', finalizers: [GROUP_FINALIZER] } });
  const { apiVersion, kind, metadata } = created;
  const ownerReferences = [{ apiVersion, kind, name: 'web', uid: metadata.uid }];
  const profile = storage.create(PROFILE_KIND, 'team-a', {
    metadata: { name: 'web', ownerReferences, finalizers: ['x/y'] },
  });
  storage.delete(KIND, keyOf(created));
  const group = storage.get(KIND, keyOf(created)) ?? expect.fail('the group is gone');
  const store = (name: string): Store => new Store({ name, logger: new MemoryLogger() });
  const actions = new Actions({ client, groups: store('groups'), profileStore: store('profiles') });
  const isProfileDeleted = (): boolean =>
    storage.get(PROFILE_KIND, keyOf(profile))?.metadata.deletionTimestamp !== undefined;
  const deleteProfile = (): Promise<KubeObject | undefined> =>
    actions.carryOut(group, { kind: 'deleteProfile', profile }, new AbortController().signal);
  return { storage, group, profile, deleteProfile, isProfileDeleted };
}
type Fixture = ReturnType<typeof newFixture>;

describe('the deletion of the AWSFargateProfile of an InstanceGroup', () => {
  const annotate = (key: string) => (fixture: Fixture) =>
    fixture.storage.mergePatch(KIND, keyOf(fixture.group), { metadata: { annotations: { [key]: '' } } });
  const changes: readonly (readonly [what: string, change: (fixture: Fixture) => unknown])[] = [
    ['the group has been paused', annotate('cluster.x-k8s.io/paused')],
    ['clusterctl is moving the group', annotate('clusterctl.cluster.x-k8s.io/delete-for-move')],
    [
      'Kubernetes has released the AWSFargateProfile',
      ({ storage, profile }) =>
        storage.mergePatch(PROFILE_KIND, keyOf(profile), { metadata: { ownerReferences: null } }),
    ],
    [
      'the group is gone',
      ({ storage, group }) => storage.mergePatch(KIND, keyOf(group), { metadata: { finalizers: null } }),
    ],
  ];
  for (const [what, change] of changes)
    it(`does not take place if ${what}, and the caches do not show it yet`, async () => {
      const fixture = newFixture();
      change(fixture);
      const error: unknown = await fixture.deleteProfile().catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(Conflict);
      expect(fixture.isProfileDeleted()).to.equal(false);
    });
});
