import { WorkloadCluster } from './workload-cluster.ts';
import { eventually } from '../../support/eventually.ts';
import { type World, fargateProfile } from '../world.ts';

export const EKS_CLUSTER = 'default_prod-control-plane';

/**
 * The spec of an AWSFargateProfile that drains its old Fargate profile when it replaces it. The spec has a selector for
 * the namespace `default` and for each given namespace.
 */
export const replacing = (drainTimeout: string, ...namespaces: readonly string[]): object => ({
  selectors: ['default', ...namespaces].map((namespace) => ({ namespace })),
  updateStrategy: { type: 'Replace', replace: { drainTimeout } },
});

/**
 * A management cluster with an AWSFargateProfile `web`, and a workload cluster. Both have a real API server. The
 * workload cluster also has the real controllers of Deployments, Jobs, and PodDisruptionBudgets, and a simulated
 * kubelet and EKS.
 */
export class DrainScene {
  readonly world: World;
  readonly workload: WorkloadCluster;

  private constructor(world: World, workload: WorkloadCluster) {
    this.world = world;
    this.workload = workload;
  }

  /** Starts the workload cluster, and the manager in `world`. `World.finish` stops them. */
  static async start(world: World): Promise<DrainScene> {
    await world.createEksCluster('prod');
    const workload = await WorkloadCluster.start(world.aws.admin, { name: EKS_CLUSTER });
    world.addCleanup(() => workload.stop());
    await workload.startControllers();
    await world.startManager();
    return new DrainScene(world, workload);
  }

  async apply(spec: object): Promise<void> {
    await this.world.apply(fargateProfile('web', spec));
  }

  async message(): Promise<string> {
    const object = await this.world.profile('web');
    return object?.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
  }

  shows(text: string): Promise<string> {
    return eventually(
      async () => {
        const shown = await this.message();
        if (!shown.includes(text)) throw new Error(shown);
        return shown;
      },
      { what: `the message "${text}"` },
    );
  }

  readyOn(profile: string, count: number): Promise<unknown> {
    return eventually(
      async () => {
        const names = await this.workload.readyOn(profile);
        if (names.length !== count) throw new Error(`${names.length} Ready pods`);
        return true;
      },
      { what: `${count} Ready pods on ${profile}` },
    );
  }

  /** Waits until EKS has deleted a Fargate profile. */
  gone(profile: string): Promise<unknown> {
    return eventually(
      async () => {
        if (this.world.awsView.profile(profile) !== undefined) throw new Error(await this.message());
        return true;
      },
      { what: `the deletion of ${profile}` },
    );
  }

  /** Kills the manager as a power failure of its node does, and starts it again. */
  async crash(): Promise<void> {
    this.world.manager.kill('SIGKILL');
    await this.world.waitForManagerExit(this.world.manager);
    await this.world.startManager();
  }
}
