import { expect } from 'chai';
import { FINALIZER } from '../../api/v1beta2/index.ts';
import { AWS_ENDPOINTS } from '../../pkg/cloud/testing/endpoints.ts';
import {
  PROFILE,
  ROLE,
  WEB,
  deleteHeld,
  patchControlPlane,
  patchWeb,
  removeHeldFinalizers,
  startAndApply,
  startUntilReady,
} from './phases/phase.ts';
import { CONTROL_PLANE_REF, EKS_CLUSTER, SECOND } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const REGION = 'af-south-1';
const CUSTOM_ENDPOINT = {
  ...AWS_ENDPOINTS,
  urlFor: (service: string): string | undefined => (service === 'eks' ? 'http://eks.example.org/' : undefined),
  fips: true,
};

/** The ways in which an AWS region becomes unusable for the manager, and usable again. */
const WAYS = [
  {
    what: 'that is not enabled in the account',
    reason: 'RegionNotEnabled',
    close: (world: SimulatedWorld) => world.aws.admin.setRegionEnabled({ region: REGION, enabled: false }),
    open: (world: SimulatedWorld) => world.aws.admin.setRegionEnabled({ region: REGION, enabled: true }),
  },
  {
    what: 'that the AWS SDK refuses',
    reason: 'SDKRefused',
    close: (world: SimulatedWorld) => restartWith(world, CUSTOM_ENDPOINT),
    open: (world: SimulatedWorld) => restartWith(world, AWS_ENDPOINTS),
  },
] as const;

function restartWith(world: SimulatedWorld, endpoints: SimulatedWorld['endpoints']): void {
  world.endpoints = endpoints;
  const running = world.managers.at(-1);
  if (running === undefined) return;
  running.kill();
  world.start();
}

/**
 * Returns a simulation whose control plane is in the region {@link REGION}, with the spec of an AWSFargateProfile that
 * names subnets in this region.
 */
function worldInRegion(): { readonly world: SimulatedWorld; readonly spec: object } {
  const world = new SimulatedWorld();
  const { subnets } = world.aws.admin.createCluster({ name: EKS_CLUSTER, region: REGION });
  patchControlPlane(world, { spec: { region: REGION } });
  return { world, spec: { subnetIDs: subnets.filter(({ isPublic }) => !isPublic).map(({ id }) => id) } };
}

for (const { what, reason, close, open } of WAYS)
  describe(`an object in a region ${what}`, () => {
    const untilDeletionStops = (world: SimulatedWorld): Promise<void> =>
      world.until('the reason', () => world.condition(WEB, 'Deleting')?.reason === reason);

    it('for which nothing was created is released at once when it is deleted, with an event', async () => {
      const { world, spec } = worldInRegion();
      close(world);
      startAndApply(world, spec);
      await world.until('the reason', () => world.condition(WEB)?.reason === reason);
      world.delete(WEB);
      await world.until('the end of the deletion', () => world.profile(WEB) === undefined, SECOND);
      await world.until('the event', () => world.eventReasons.includes('ReleasedWithoutCredentials'), SECOND);
      const [message] = world.eventMessages('ReleasedWithoutCredentials');
      expect(message).to.match(
        /^The deletion ends without a call to AWS, because the controller has created nothing in AWS for this AWSFargateProfile\. .* The controller could not look for them: .*region "af-south-1"/,
      );
      await world.finish();
    });

    it('that is deleted stays with the reason until the region is usable again', async () => {
      const { world, spec } = worldInRegion();
      await startUntilReady(world, spec);
      close(world);
      world.delete(WEB);
      await untilDeletionStops(world);
      expect(world.condition(WEB, 'Deleting')?.message).to.contain(
        ' set spec.deletionPolicy to Retain; the profile and role then stay in AWS. ',
      );
      expect(world.profile(WEB)?.metadata.finalizers).to.deep.equal([FINALIZER]);
      open(world);
      await world.gone(WEB);
      await world.finish();
    });

    it('that is deleted with its control plane stays, and the reason names the finalizer as the way out', async () => {
      const { world, spec } = worldInRegion();
      await startUntilReady(world, spec);
      close(world);
      deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
      await untilDeletionStops(world);
      expect(world.condition(WEB, 'Deleting')?.message).to.contain(
        ` remove ${FINALIZER} from metadata.finalizers of this object; the profile and role then stay in AWS. `,
      );
      patchWeb(world, { metadata: { finalizers: null } });
      await world.gone(WEB);
      world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: PROFILE, region: REGION });
      world.aws.admin.removeRole({ name: ROLE });
      removeHeldFinalizers(world);
      await world.finish();
    });
  });
