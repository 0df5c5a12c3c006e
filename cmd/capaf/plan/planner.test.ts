import { setImmediate } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import { expect } from 'chai';
import { keyOf } from 'controller-runtime/client';
import { ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import { CONTROL_PLANE_GROUP, CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import { type Api, CLUSTER, PROFILE_KIND, newApi } from '../../../controllers/awsfargateprofile/testing/api.ts';
import {
  ACCOUNT,
  EKS_CLUSTER,
  FULL_RECORD,
  OWNER_TAG,
  PROFILE_ID,
  PROFILE_TAGS,
  RECORDED,
} from '../../../controllers/awsfargateprofile/testing/builders.ts';
import {
  aSimulatedProfile,
  aSimulatedRole,
  awsAsDesired,
  awsWith,
} from '../../../controllers/awsfargateprofile/testing/reconcile-state.ts';
import type { SimulatedProfile } from '../../../controllers/awsfargateprofile/testing/simulated-aws.ts';
import { sessionOn } from '../../../controllers/awsfargateprofile/testing/simulated-aws.ts';
import type { EksCluster, Session } from '../../../pkg/cloud/index.ts';
import { NO_LIMITS } from '../../../pkg/fargate/operator-limits.ts';
import { type PlannedObject, startPlanner } from './planner.ts';
import { describePlan } from './run.ts';

const REFERENCE = { apiGroup: CONTROL_PLANE_GROUP, kind: CONTROL_PLANE_KIND, name: 'prod-control-plane' };

interface World {
  readonly isClusterDeleted: boolean;
  readonly deletionProtection: boolean;
}

/**
 * Plans the deletion of the object `team-a/web`, whose profile and role match the spec, in the EKS cluster of Cluster
 * `prod`.
 */
async function planDeletion({ isClusterDeleted, deletionProtection }: World): Promise<string> {
  const api = newApi();
  const key = keyOf(api.put({ record: FULL_RECORD, status: RECORDED }));
  api.putControlPlane({ region: RECORDED.region, eksClusterName: EKS_CLUSTER });
  const cluster = api.putCluster({ controlPlaneRef: REFERENCE }, { finalizers: ['cluster.cluster.x-k8s.io'] });
  if (isClusterDeleted) api.server.storage.delete(CLUSTER, keyOf(cluster));
  const described: EksCluster = { status: 'ACTIVE', deletionProtection };
  const session: Session = {
    ...sessionOn(awsAsDesired()),
    clusters: { describe: async () => E.right(described) },
  };
  const { planner, stop } = await startPlannerOn(api, session);
  await planner.remove(key);
  const objects = await planner.plan([key], ACCOUNT);
  stop.abort();
  return describePlan(objects, ACCOUNT, []);
}

async function startPlannerOn(api: Api, session: Session) {
  const stop = new AbortController();
  const planner = await startPlanner({
    client: api.client,
    sessions: { open: async () => E.right(session) },
    limits: NO_LIMITS,
    managerRegion: undefined,
    clock: api.clock,
    signal: stop.signal,
  });
  return { planner, stop };
}

/**
 * Returns objects in the namespace `team-a` and in one EKS cluster. Each has its role, and its profile with this
 * status.
 */
function siblings(statuses: Readonly<Record<string, SimulatedProfile['status']>>) {
  const api = newApi();
  api.putControlPlane({ region: RECORDED.region, eksClusterName: EKS_CLUSTER });
  api.putCluster({ controlPlaneRef: REFERENCE }, { finalizers: ['cluster.cluster.x-k8s.io'] });
  const all = Object.entries(statuses).map(([name, status]) => {
    const role = RoleName.of(`prod-team-a_${name}_fargate`);
    const profile = ProfileName.of(`team-a_${name}`);
    const podExecutionRoleArn = RoleArn.of(`arn:aws:iam::${ACCOUNT}:role/${role}`);
    const tags = { ...PROFILE_TAGS, [OWNER_TAG]: `team-a/${name}` };
    const record = {
      ...FULL_RECORD,
      profiles: [{ name: profile, id: PROFILE_ID, served: true }],
      roles: [{ name: role, id: 'AROAEXAMPLE', checked: true }],
    } as const;
    return {
      key: keyOf(api.put({ metadata: { name }, record, status: RECORDED })),
      inAws: [
        aSimulatedProfile({ name: profile, status, podExecutionRoleArn, tags }),
        aSimulatedRole({ name: role }),
      ] as const,
    };
  });
  return { api, keys: all.map(({ key }) => key), session: sessionOn(awsWith(...all.flatMap(({ inAws }) => inAws))) };
}

describe('the plan of several objects in one EKS cluster', () => {
  const deletionsOf = (objects: readonly PlannedObject[]): readonly string[] =>
    objects.map(({ name, changes, end: { reason } }) => {
      const deleted = changes.flatMap(({ deletedProfile }) => deletedProfile ?? []);
      return `${name}: ${deleted.join()}, ${reason}`;
    });

  it('deletes one profile after the other, in any order of the objects', async () => {
    const { api, keys, session } = siblings({ c: 'ACTIVE', a: 'ACTIVE', d: 'ACTIVE', b: 'ACTIVE' });
    const { planner, stop } = await startPlannerOn(api, session);
    for (const key of keys) await planner.remove(key);
    expect(deletionsOf(await planner.plan(keys, ACCOUNT))).to.deep.equal([
      'c: team-a_c, Deleted',
      'a: team-a_a, Deleted',
      'd: team-a_d, Deleted',
      'b: team-a_b, Deleted',
    ]);
    stop.abort();
  });

  it('waits for a sibling that is being deleted and is not in the plan', async () => {
    const { api, keys, session } = siblings({ a: 'ACTIVE', web: 'ACTIVE' });
    const [first = expect.fail(), ...wanted] = keys;
    api.server.storage.delete(PROFILE_KIND, first);
    const { planner, stop } = await startPlannerOn(api, session);
    for (const key of wanted) await planner.remove(key);
    expect(deletionsOf(await planner.plan(wanted, ACCOUNT))).to.deep.equal(['web: team-a_web, Deleted']);
    stop.abort();
  });

  it('asks AWS about the roles of all objects at the same time, and about each once', async () => {
    const { api, keys, session } = siblings({ a: 'ACTIVE', b: 'ACTIVE', c: 'ACTIVE', unplanned: 'ACTIVE' });
    const asked: string[] = [];
    const running = new Set<string>();
    let most = 0;
    const get: Session['roles']['get'] = async (name) => {
      asked.push(name);
      running.add(name);
      most = Math.max(most, running.size);
      await setImmediate();
      running.delete(name);
      return session.roles.get(name);
    };
    const { planner, stop } = await startPlannerOn(api, { ...session, roles: { ...session.roles, get } });
    const objects = await planner.plan(keys.slice(0, 3), ACCOUNT);
    expect(objects.map(({ end }) => end.ready)).to.deep.equal(['True', 'True', 'True']);
    expect(asked.toSorted()).to.deep.equal(['a', 'b', 'c'].map((name) => `prod-team-a_${name}_fargate`));
    expect(most).to.equal(3);
    stop.abort();
  });
});

describe('the plan of a deletion, with the deletion protection of the EKS cluster', () => {
  const deletion = ['DeleteFargateProfile', 'DetachRolePolicy', 'DeleteRole'];

  it('on and the Cluster being deleted: deletes nothing, and says how to go on', async () => {
    const text = await planDeletion({ isClusterDeleted: true, deletionProtection: true });
    expect(text).to.contain('Plan for 1 AWSFargateProfile: no changes');
    for (const operation of deletion) expect(text).not.to.contain(operation);
    expect(text)
      .to.match(/then Ready False, Deleting: EKS refuses to delete EKS cluster "team-a_prod-control-plane" while/)
      .and.to.contain('so the controller deletes nothing in AWS for this object')
      .and.to.contain(
        'run: aws eks update-cluster-config --name team-a_prod-control-plane --region eu-west-1 --no-deletion-protection',
      );
    expect(text).not.to.contain('at the end');
  });

  const others: readonly (readonly [string, World])[] = [
    ['off and the Cluster being deleted', { isClusterDeleted: true, deletionProtection: false }],
    ['on, but only the object being deleted', { isClusterDeleted: false, deletionProtection: true }],
  ];
  for (const [given, world] of others)
    it(`${given}: deletes profile and role`, async () => {
      const text = await planDeletion(world);
      expect(text).to.contain('Plan for 1 AWSFargateProfile: 3 changes');
      for (const operation of deletion) expect(text).to.contain(operation);
      expect(text).to.contain('at the end Ready False, Deleted');
    });
});
