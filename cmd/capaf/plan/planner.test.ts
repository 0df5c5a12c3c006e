import * as E from 'fp-ts/lib/Either.js';
import { expect } from 'chai';
import { keyOf } from 'controller-runtime/client';
import { CONTROL_PLANE_GROUP, CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import { CLUSTER, newApi } from '../../../controllers/awsfargateprofile/testing/api.ts';
import { ACCOUNT, EKS_CLUSTER, NOTED, RECORDED } from '../../../controllers/awsfargateprofile/testing/builders.ts';
import { awsAsWanted } from '../../../controllers/awsfargateprofile/testing/pass-state.ts';
import { sessionOn } from '../../../controllers/awsfargateprofile/testing/simulated-session.ts';
import type { EksCluster, Session } from '../../../pkg/cloud/index.ts';
import { NO_LIMITS } from '../../../pkg/fargate/operator-limits.ts';
import { startPlanner } from './planner.ts';
import { describePlan } from './run.ts';

const REFERENCE = { apiGroup: CONTROL_PLANE_GROUP, kind: CONTROL_PLANE_KIND, name: 'prod-control-plane' };

interface World {
  readonly isClusterDeleted: boolean;
  readonly deletionProtection: boolean;
}

/** The object `team-a/web`, whose profile and role are as the spec asks for, in the EKS cluster of Cluster `prod`. */
async function planDeletion({ isClusterDeleted, deletionProtection }: World): Promise<string> {
  const api = newApi();
  const key = keyOf(api.put({ note: NOTED, status: RECORDED }));
  api.putControlPlane({ region: RECORDED.region, eksClusterName: EKS_CLUSTER });
  const cluster = api.putCluster({ controlPlaneRef: REFERENCE }, { finalizers: ['cluster.cluster.x-k8s.io'] });
  if (isClusterDeleted) api.server.storage.delete(CLUSTER, keyOf(cluster));
  const described: EksCluster = { name: EKS_CLUSTER, arn: '', status: 'ACTIVE', deletionProtection };
  const session: Session = {
    ...sessionOn(awsAsWanted()),
    clusters: { describe: async () => E.right(described) },
  };
  const stop = new AbortController();
  const planner = await startPlanner({
    client: api.client,
    sessions: { open: async () => E.right(session) },
    limits: NO_LIMITS,
    managerRegion: undefined,
    clock: api.clock,
    signal: stop.signal,
  });
  await planner.remove(key);
  const objects = await planner.plan([key], ACCOUNT);
  stop.abort();
  return describePlan(objects, ACCOUNT, []);
}

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
