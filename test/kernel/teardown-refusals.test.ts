import { expect } from 'chai';
import { fieldAt } from '../../api/record.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { TransportRequest } from '../../pkg/kube/transport.ts';
import { json } from '../../pkg/kube/testing/fake-api-server.ts';
import { deleteHeld, letGo } from './phases/phase.ts';
import { CONTROL_PLANE_REF, KernelWorld, MINUTE, SECOND } from './world.ts';

const CONTROL_PLANES = 'awsmanagedcontrolplanes';
/** Between two tries, and what the rest takes: the limit for going on once nothing is refused any more. */
const SOON: Ms = 20 * SECOND;

/** The API server refuses such requests from now on. */
function refuse(world: KernelWorld, method: TransportRequest['method'], path: RegExp, code: 403 | 409): void {
  const message = code === 403 ? 'User "capaf" cannot touch resource "x"' : 'the object has been modified';
  const reason = code === 403 ? 'Forbidden' : 'Conflict';
  world.api.intercept = (request) =>
    request.method === method && path.test(request.path)
      ? json(code, { kind: 'Status', status: 'Failure', reason, code, message })
      : undefined;
}

const allow = (world: KernelWorld): void => {
  world.api.intercept = () => undefined;
};

/** What Warnings there are of the API server's refusals, as `kind name: message`. */
const refusals = (world: KernelWorld): readonly string[] =>
  world
    .objects('events')
    .filter(({ reason }) => reason === 'APIServerRefused')
    .map(({ involvedObject, message }) =>
      [fieldAt(involvedObject, 'kind'), ' ', fieldAt(involvedObject, 'name'), ': ', message].join(''),
    );

async function torn(before: (world: KernelWorld) => void): Promise<KernelWorld> {
  const world = new KernelWorld();
  world.start();
  world.apply('a', 'b');
  await world.ready('a', 'b');
  deleteHeld(world, CONTROL_PLANES, CONTROL_PLANE_REF.name);
  before(world);
  return world;
}

const guardOf = (world: KernelWorld): readonly string[] =>
  (world.object(CONTROL_PLANES, CONTROL_PLANE_REF.name)?.metadata.finalizers ?? []).filter((each) =>
    each.startsWith('aws-fargate.'),
  );

describe('what the API server refuses to a teardown', () => {
  it('the deletion of a profile: an event on it says so, the others go, and it follows soon after', async () => {
    const world = await torn((one) => refuse(one, 'DELETE', /\/awsfargateprofiles\/a$/, 403));
    await world.gone('b');
    await world.clock.advance(10 * MINUTE);
    expect(refusals(world)).to.have.length(1);
    expect(refusals(world)[0])
      .to.match(/^AWSFargateProfile a: The API server refuses what the manager needs: deleting awsfargateprofiles/)
      .and.to.contain("Apply the manager's roles and role bindings again (config/rbac)");
    allow(world);
    await world.until('the deletion', () => world.profile('a')?.metadata.deletionTimestamp !== undefined, SOON);
    await world.gone('a');
    letGo(world);
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
      'every write, as one that comes too late',
      'PATCH',
      /\/awsmanagedcontrolplanes\//,
      409,
      /somebody else changes the/,
    ],
  ] as const)
    it(`${what}: the guard stays, an event on the control plane says why, and it goes soon after`, async () => {
      const world = await torn((one) => refuse(one, method, path, code));
      await world.gone('a', 'b');
      await world.clock.advance(10 * MINUTE);
      expect(guardOf(world)).to.have.length(1);
      expect(refusals(world)).to.have.length(1);
      expect(refusals(world)[0])
        .to.match(/^AWSManagedControlPlane prod-control-plane: /)
        .and.to.match(words);
      allow(world);
      await world.until('the end of the guard', () => guardOf(world).length === 0, SOON);
      letGo(world);
      await world.finish();
    });
});
