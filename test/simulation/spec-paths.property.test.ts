import { expect } from 'chai';
import fc from 'fast-check';
import { propertyRuns } from 'controller-runtime/testing';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { CAPA_TRUST, EKS_POLICY } from '../world/aws/capa-resources.ts';
import { WEB } from './phases/phase.ts';
import { ACCOUNT, CLUSTER, NAMESPACE, SECOND } from './world/cluster.ts';
import { PerturbedWorld, withoutIds } from './world/perturbed-world.ts';
import { conditionsOf } from './world/problems.ts';

type Spec = Readonly<Record<string, unknown>>;

const BROUGHT = 'brought';

/** A simulation whose object `web` gets one spec after the other. */
class PathWorld extends PerturbedWorld {
  readonly subnets = this.aws.admin.clusters().flatMap(({ subnets }) => subnets.filter(({ isPublic }) => !isPublic));

  constructor() {
    super();
    this.aws.admin.putRole({ name: BROUGHT, trustPolicy: CAPA_TRUST, attachedPolicies: [EKS_POLICY] });
    this.start();
  }

  /** Replaces the whole spec, as `kubectl replace` does. `subnets` is the number of subnets. */
  want({ subnets, ...fields }: Spec): void {
    const subnetIDs = this.subnets.slice(0, Number(subnets)).map(({ id }) => id);
    const spec = { clusterName: CLUSTER, updateStrategy: { type: 'Replace' }, subnetIDs, ...fields };
    const metadata = this.profile(WEB)?.metadata;
    if (metadata === undefined) this.create(PLURAL, { metadata: { name: WEB }, spec });
    else this.api.storage.replace(this.api.kind(PLURAL), { namespace: NAMESPACE, name: WEB }, { metadata, spec });
  }

  /** What the manager owns in AWS, and the conditions of the object, without ids, times and derived names. */
  get result(): unknown {
    const { profiles, roles, accessEntries } = this.aws.admin.snapshot();
    const owned = [profiles, roles, accessEntries].map((all) => all.filter(({ foreign }) => !foreign));
    const conditions = conditionsOf(this.profile(WEB)).map(
      ({ observedGeneration: _generation, ...condition }) => condition,
    );
    const text = JSON.stringify(withoutIds([owned, conditions]));
    return JSON.parse(text.replaceAll(/\d{4}-(default_web|named)/g, '$1')) as unknown;
  }
}

/**
 * Each spec has subnetIDs and a role. Otherwise the result would depend on the earlier specs: EKS chooses the subnets
 * of a new profile, and an existing profile keeps its subnets and role.
 */
const anySpec: fc.Arbitrary<Spec> = fc
  .tuple(
    fc.constantFrom({ selectors: [{ namespace: 'a' }] }, { selectors: [{ namespace: 'b', labels: { x: 'y' } }] }),
    fc.constantFrom({ subnets: 1 }, { subnets: 2 }),
    fc.constantFrom({}, { profileName: 'named' }),
    fc.constantFrom(
      { roleName: 'one' },
      { roleName: 'two', rolePath: '/team/' },
      { roleARN: `arn:aws:iam::${ACCOUNT}:role/${BROUGHT}` },
    ),
    fc.constantFrom({}, { additionalTags: { team: 'a', old: '1' } }, { additionalTags: { team: 'b' } }),
  )
  .map((parts) => Object.assign({}, ...parts) as Spec);

/** Specs that the manager, EKS or IAM refuses, and the reason of `Ready`. */
const MISTAKES: readonly (readonly [Spec, reason: string])[] = [
  [{ selectors: [] }, 'InvalidSpec'],
  [{ selectors: [{ labels: { a: 'b' } }] }, 'Refused'],
  [{ profileName: 'eks-mine' }, 'InvalidSpec'],
  [{ roleName: 'other', rolePath: 'nope' }, 'Refused'],
  [{ roleName: 'other', rolePermissionsBoundary: `arn:aws:iam::${ACCOUNT}:policy/missing` }, 'Refused'],
  [{ roleARN: `arn:aws:iam::${ACCOUNT}:role/missing` }, 'RoleNotFound'],
  [{ rolePath: '/alone/' }, 'SpecDiffers'],
  [{ roleAdditionalPolicies: [`arn:aws:iam::${ACCOUNT}:policy/missing`] }, 'Refused'],
  [{ subnetIDs: ['subnet-00000000000000000'] }, 'Refused'],
  [{ additionalTags: { 'aws:x': 'y' } }, 'TagsInvalid'],
];

/**
 * Applies each spec of the path for its number of seconds, and then the spec `last`. Returns the result of the last
 * spec.
 */
async function resultOf(last: Spec, path: readonly (readonly [Spec, seconds: number])[] = []): Promise<unknown> {
  const world = new PathWorld();
  for (const [spec, seconds] of path) {
    world.want(spec);
    await world.clock.advance(seconds * SECOND);
  }
  world.want(last);
  await world.settled(WEB);
  const { result } = world;
  await world.deleteAndFinish(WEB);
  return result;
}

describe('a spec under updateStrategy Replace', () => {
  it('has the same result after any other specs as alone', async () => {
    // The manager needs 4 s for a creation, and about 40 s for a replacement.
    const anySeconds = fc.constantFrom(0, 0.2, 0.5, 0.8, 1, 1.3, 1.6, 2, 3, 5, 10, 20, 35, 40, 60);
    await fc.assert(
      fc.asyncProperty(
        anySpec,
        fc.array(fc.tuple(anySpec, anySeconds), { minLength: 1, maxLength: 3 }),
        async (last, path) => void expect(await resultOf(last, path)).to.deep.equal(await resultOf(last)),
      ),
      { numRuns: Math.ceil(propertyRuns(1_000) / 100) },
    );
  });

  for (const [mistake, reason] of MISTAKES)
    it(`tells a mistake, and has the former result once that is taken back: ${JSON.stringify(mistake)}`, async () => {
      const world = new PathWorld();
      const good = { selectors: [{ namespace: 'a' }], subnets: 2 };
      const ids = () => [world.eksProfile(WEB)?.arn, world.role(WEB)?.id];
      world.want(good);
      await world.settled(WEB);
      const before = [world.result, ids()];
      world.want({ ...good, ...mistake });
      await world.reason(WEB, reason);
      await world.reason(WEB, reason, 'Stalled');
      expect(world.condition(WEB, 'Available')?.status).to.equal('True');
      world.want(good);
      await world.settled(WEB);
      expect([world.result, ids()]).to.deep.equal(before);
      await world.deleteAndFinish(WEB);
    });
});
