import { expect } from 'chai';
import type { TransportRequest } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import { fieldAt } from 'controller-runtime/json';
import { json } from 'controller-runtime/testing';
import { deleteHeld, removeHeldFinalizers } from '../phases/phase.ts';
import { SimulatedWorld } from '../world/simulated-world.ts';
import { CONTROL_PLANE_REF, MINUTE, SECOND } from '../world/cluster.ts';

const CONTROL_PLANES = 'awsmanagedcontrolplanes';
/** A time that is longer than the manager's pause between two attempts of a refused request. */
const SOON: Ms = 20 * SECOND;

/** Makes the API server refuse every later request with this HTTP method and a path that matches the pattern. */
function refuseRequests(
  world: SimulatedWorld,
  method: TransportRequest['method'],
  path: RegExp,
  code: 403 | 409,
): void {
  const message = code === 403 ? 'User "capaf" cannot touch resource "x"' : 'the object has been modified';
  const reason = code === 403 ? 'Forbidden' : 'Conflict';
  world.api.intercept = (request) =>
    request.method === method && path.test(request.path)
      ? json(code, { kind: 'Status', status: 'Failure', reason, code, message })
      : undefined;
}

const acceptRequests = (world: SimulatedWorld): void => {
  world.api.intercept = () => undefined;
};

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

const ownFinalizers = (world: SimulatedWorld): readonly string[] =>
  (world.object(CONTROL_PLANES, CONTROL_PLANE_REF.name)?.metadata.finalizers ?? []).filter((each) =>
    each.startsWith('aws-fargate.'),
  );

describe('a teardown with refused requests', () => {
  it('for the deletion of a profile: records an event, deletes the other profiles, and retries', async () => {
    const world = await startTeardown((one) => refuseRequests(one, 'DELETE', /\/awsfargateprofiles\/a$/, 403));
    await world.gone('b');
    await world.clock.advance(10 * MINUTE);
    expect(listRefusals(world)).to.have.length(1);
    expect(listRefusals(world)[0])
      .to.match(/^AWSFargateProfile a: The API server rejects a request from the controller\. /)
      .and.to.match(/ Error: deleting awsfargateprofiles/)
      .and.to.contain('Apply the roles and role bindings of the manager again (config/rbac)');
    acceptRequests(world);
    await world.until('the deletion', () => world.profile('a')?.metadata.deletionTimestamp !== undefined, SOON);
    await world.gone('a');
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
      const world = await startTeardown((one) => refuseRequests(one, method, path, code));
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
