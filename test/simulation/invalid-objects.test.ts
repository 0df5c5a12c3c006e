import { expect } from 'chai';
import { errorMessage } from 'controller-runtime/text';
import { FINALIZER, PLURAL } from '../../api/v1beta2/index.ts';
import { WEB, patchControlPlane, patchWeb, startAndApply } from './phases/phase.ts';
import { CONTROL_PLANE_REF, CLUSTER, MINUTE } from './world/cluster.ts';
import { it } from './world/it.ts';

const numbered = (count: number): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'value']));

/**
 * Objects that the CRD of Cluster API Provider AWS accepts and the CRD of this project refuses. Such objects can be
 * older than the CRD of this project. `fix` contains the fields with which a user corrects the object.
 */
const CASES: readonly (readonly [what: string, spec: object, reason: string, message: string, fix: object])[] = [
  [
    'an empty list of selectors',
    { selectors: [] },
    'InvalidSpec',
    'spec.selectors is empty, but a Fargate profile requires at least one selector',
    { selectors: [{ namespace: WEB }] },
  ],
  [
    'a selector without a namespace',
    { selectors: [{ labels: { a: 'b' } }] },
    'Refused',
    'Fargate Profile must have at least one selector with at least one namespace value.',
    { selectors: [{ namespace: WEB }] },
  ],
  [
    'six labels in a selector',
    { selectors: [{ namespace: WEB, labels: { a: '', b: '', c: '', d: '', e: '', f: '' } }] },
    'Refused',
    'Request contains Selector with more than 5 Label pairs',
    { selectors: [{ namespace: WEB, labels: { a: '' } }] },
  ],
  [
    'a reserved prefix in the profile name',
    { profileName: 'eks-mine' },
    'InvalidSpec',
    `spec.profileName: EKS does not allow the name "eks-mine": The fargate profile name starts with the reserved prefix: 'eks-'.`,
    { profileName: 'mine' },
  ],
  [
    'invalid characters in the role name',
    { roleName: 'a/b' },
    'InvalidSpec',
    'spec.roleName: "a/b" is not a valid IAM role name',
    { roleName: 'ab' },
  ],
  [
    'a role path without slashes',
    { rolePath: 'nope' },
    'Refused',
    'The specified value for path is invalid.',
    { rolePath: '/nope/' },
  ],
  [
    'more tags than AWS allows, tags of the controller included',
    { additionalTags: numbered(48) },
    'TagsInvalid',
    'there are 51 tags (3 of them from this controller), but AWS allows only 50',
    { additionalTags: { 'key-0': null } },
  ],
];

describe('an invalid object', () => {
  for (const [what, spec, reason, message, fix] of CASES)
    it(`says so, becomes Ready once it is corrected, and can be deleted as it is: ${what}`, async (world) => {
      startAndApply(world, spec);
      world.applyWith('other', spec);
      expect(await world.reason(WEB, reason)).to.contain(message);
      await world.until('Stalled', () => world.condition(WEB, 'Stalled')?.status === 'True');
      await world.until('the event', () => world.warnings().some((warning) => warning.includes(message)));
      world.delete('other');
      await world.gone('other');
      patchWeb(world, { spec: fix });
      await world.ready(WEB);
    });

  it('says so if its status cannot be read, and becomes Ready once the status is corrected', async (world) => {
    world.apply(WEB);
    world.patch(PLURAL, WEB, { status: { ready: 'yes', profileName: 7 } }, 'status');
    world.start();
    expect(await world.reason(WEB, 'InvalidObject')).to.contain('status.profileName: expected string, got 7');
    expect(world.profile(WEB)?.metadata.finalizers ?? []).to.deep.equal([]);
    world.patch(PLURAL, WEB, { status: { ready: null, profileName: null } }, 'status');
    await world.ready(WEB);
  });

  it('keeps its finalizer during a deletion until it can be read', async (world) => {
    world.create(PLURAL, { metadata: { name: WEB, finalizers: [FINALIZER] }, spec: { selectors: 'all' } });
    world.start();
    world.delete(WEB);
    await world.clock.advance(30 * MINUTE);
    expect(world.profile(WEB)?.metadata.finalizers).to.deep.equal([FINALIZER]);
    patchWeb(world, { spec: { clusterName: CLUSTER, selectors: [{ namespace: WEB }] } });
  });

  it('of its control plane is told in the log of the teardown, and counted', async (world) => {
    patchControlPlane(world, { spec: { region: 7 } });
    startAndApply(world);
    const words = `AWSManagedControlPlane default/${CONTROL_PLANE_REF.name} cannot be read: spec.region: expected string, got 7`;
    const [manager] = world.managers;
    const isLogged = (): boolean => manager?.logger.lines.some(({ error }) => errorMessage(error) === words) === true;
    await world.until('the words in the log', isLogged);
    const unreadable = async (): Promise<unknown> =>
      /^capaf_unreadable_objects\{kind="AWSManagedControlPlane"\} (\d+)$/m.exec(
        (await manager?.metrics.metrics()) ?? '',
      )?.[1];
    expect(await unreadable()).to.equal('1');
    patchControlPlane(world, { spec: { region: 'us-east-1' } });
    await world.ready(WEB);
    expect(await unreadable()).to.equal('0');
  });
});
