import { expect } from 'chai';
import type { Ms } from 'controller-runtime/env';
import { fieldAt } from 'controller-runtime/json';
import { acceptRequests, deleteHeld, refuseRequests, removeHeldFinalizers } from '../phases/phase.ts';
import { SimulatedWorld } from '../world/simulated-world.ts';
import { CONTROL_PLANE_REF, MINUTE, SECOND } from '../world/cluster.ts';

const CONTROL_PLANES = 'awsmanagedcontrolplanes';
/** A time that is longer than the manager's pause between two attempts of a refused request. */
const SOON: Ms = 20 * SECOND;

const MESSAGES = {
  403: 'User "capaf" cannot touch resource "x"',
  409: 'the object has been modified',
  500: 'etcdserver: request timed out',
} as const;

/**
 * Lists the Events with the reason APIServerRefused, as `<kind> <name>: <message>` with the kind and name of the object
 * that the Event is about.
 */
const listRefusals = (world: SimulatedWorld): readonly string[] =>
  world
    .objects('events')
    .filter(({ reason }) => reason === 'APIServerRefused')
    .map(({ involvedObject, message }) =>
      [fieldAt(involvedObject, 'kind'), ' ', fieldAt(involvedObject, 'name'), ': ', message].join(''),
    );

async function startTeardown(before: (world: SimulatedWorld) => void): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  await world.startWithReady('a', 'b');
  deleteHeld(world, CONTROL_PLANES, CONTROL_PLANE_REF.name);
  before(world);
  return world;
}

const isDeleting = (world: SimulatedWorld, name: string): boolean =>
  world.profile(name)?.metadata.deletionTimestamp !== undefined;

const ownFinalizers = (world: SimulatedWorld): readonly string[] =>
  world.controlPlaneFinalizers.filter((each) => each.startsWith('aws-fargate.'));

describe('a teardown with refused requests', () => {
  for (const [code, remedy] of [
    [403, 'Apply the roles and role bindings of the manager again (config/rbac)'],
    [500, 'Check the health of the API server'],
  ] as const)
    it(`for the deletion of a profile, with ${code}: records an event, deletes the other profiles, and retries`, async () => {
      const world = await startTeardown((one) =>
        refuseRequests(one, 'DELETE', /\/awsfargateprofiles\/a$/, code, MESSAGES[code]),
      );
      await world.gone('b');
      await world.clock.advance(10 * MINUTE);
      expect(listRefusals(world)).to.have.length(1);
      expect(listRefusals(world)[0])
        .to.match(/^AWSFargateProfile a: The API server rejects a request from the controller\. /)
        .and.to.match(/ Error: deleting awsfargateprofiles/)
        .and.to.contain(remedy);
      acceptRequests(world);
      await world.until('the deletion', () => isDeleting(world, 'a'), SOON);
      await world.gone('a');
      removeHeldFinalizers(world);
      await world.finish();
    });

  for (const [what, path, code, words] of [
    ['the Cluster', /\/clusters\/prod$/, 500, /getting clusters\S+ default\/prod: etcdserver/],
    ['the CRD', /\/customresourcedefinitions\//, 500, /getting customresourcedefinitions\S+ \S+: etcdserver/],
    ['the CRD', /\/customresourcedefinitions\//, 403, /getting customresourcedefinitions\S+ \S+: User "capaf" cannot/],
  ] as const)
    it(`for reads of ${what}, with ${code} for half an hour: records events, and goes on soon afterwards`, async () => {
      const world = await startTeardown((one) => refuseRequests(one, 'GET', path, code, MESSAGES[code]));
      await world.clock.advance(30 * MINUTE);
      for (const name of ['a', 'b']) {
        const refusals = listRefusals(world).filter((text) => text.startsWith(`AWSFargateProfile ${name}: `));
        expect(refusals, name).to.have.length(1);
        expect(refusals[0]).to.match(words);
        expect(isDeleting(world, name), name).to.equal(false);
      }
      acceptRequests(world);
      await world.until('the deletions', () => isDeleting(world, 'a') && isDeleting(world, 'b'), SOON);
      await world.gone('a', 'b');
      removeHeldFinalizers(world);
      await world.finish();
    });

  for (const [what, method, path, code, words] of [
    ['the list of profiles', 'GET', /\/namespaces\/default\/awsfargateprofiles\?/, 403, /listing awsfargateprofiles/],
    [
      'every write of the control plane',
      'PATCH',
      /\/awsmanagedcontrolplanes\//,
      403,
      /patching awsmanagedcontrolplanes/,
    ],
    [
      'every write, as a conflict',
      'PATCH',
      /\/awsmanagedcontrolplanes\//,
      409,
      /another client changes this object again and again/,
    ],
  ] as const)
    it(`for ${what}: keeps the control plane finalizer, records an event, and retries`, async () => {
      const world = await startTeardown((one) => refuseRequests(one, method, path, code, MESSAGES[code]));
      await world.gone('a', 'b');
      await world.clock.advance(10 * MINUTE);
      expect(ownFinalizers(world)).to.have.length(1);
      expect(listRefusals(world)).to.have.length(1);
      expect(listRefusals(world)[0])
        .to.match(/^AWSManagedControlPlane prod-control-plane: /)
        .and.to.match(words);
      acceptRequests(world);
      await world.until('the removal of the control plane finalizer', () => ownFinalizers(world).length === 0, SOON);
      removeHeldFinalizers(world);
      await world.finish();
    });
});
