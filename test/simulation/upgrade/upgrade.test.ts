import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { textAt } from '../../../api/record.ts';
import { CLUSTER, CONTROL_PLANE_REF } from '../world/cluster.ts';
import { SimulatedWorld } from '../world/simulated-world.ts';
import { loadWorld, saveWorld } from './saved-world.ts';

/** A moment in the life of objects at which the manager of the release before stops for good. */
interface Moment {
  readonly file: string;
  readonly title: string;
  readonly reach: (world: SimulatedWorld) => Promise<void>;
  /** The names of the objects that the manager of this release has to make Ready. */
  readonly live: readonly string[];
  /** The operations by which the manager of this release may change AWS until then. */
  readonly changes: readonly string[];
}

const statusOf = (world: SimulatedWorld, name: string): string | undefined =>
  textAt(world.profile(name)?.status, 'profileStatus');
const create = async (world: SimulatedWorld, ...names: readonly string[]): Promise<void> => {
  world.start();
  for (const name of names) world.applyWith(name, { additionalTags: { team: name } });
};
const ready = async (world: SimulatedWorld, ...names: readonly string[]): Promise<void> => {
  await create(world, ...names);
  await world.ready(...names);
};
const CREATION = ['CreateRole', 'AttachRolePolicy', 'CreateFargateProfile'];

const MOMENTS: readonly Moment[] = [
  {
    file: 'role-made',
    title: 'between the creation of a role and that of its profile',
    reach: async (world) => {
      await create(world, 'a');
      await world.until('the role', () =>
        world.mutations().some(({ operation, applied }) => operation === 'CreateRole' && applied),
      );
    },
    live: ['a'],
    changes: CREATION.slice(1),
  },
  {
    file: 'creating',
    title: 'while EKS creates a profile',
    reach: async (world) => {
      await create(world, 'a');
      await world.until('CREATING', () => statusOf(world, 'a') === 'CREATING');
    },
    live: ['a'],
    changes: [],
  },
  {
    file: 'waiting',
    title: 'while two objects wait for the profile of a third',
    reach: async (world) => {
      await create(world, 'a', 'b', 'c');
      const isWaiting = (name: string): boolean => world.condition(name)?.reason === 'WaitingForSibling';
      const isCreating = (name: string): boolean => statusOf(world, name) === 'CREATING';
      await world.until('two that wait', () => {
        const names = ['a', 'b', 'c'];
        return names.filter(isWaiting).length === 2 && names.some(isCreating);
      });
    },
    live: ['a', 'b', 'c'],
    changes: CREATION,
  },
  {
    file: 'ready',
    title: 'while all is at rest',
    reach: (world) => ready(world, 'a', 'b'),
    live: ['a', 'b'],
    changes: [],
  },
  {
    file: 'deleting',
    title: 'while EKS deletes a profile',
    reach: async (world) => {
      await ready(world, 'a', 'b');
      world.delete('a');
      await world.until('DELETING', () => statusOf(world, 'a') === 'DELETING');
    },
    live: ['b'],
    changes: ['DetachRolePolicy', 'DeleteRole', 'DeleteAccessEntry'],
  },
  {
    file: 'teardown',
    title: 'in the teardown of a cluster',
    reach: async (world) => {
      await ready(world, 'a', 'b');
      world.patch('clusters', CLUSTER, { metadata: { finalizers: ['cluster.cluster.x-k8s.io'] } });
      world.remove('clusters', CLUSTER);
      world.remove('awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
      await world.until('DELETING', () => ['a', 'b'].some((name) => statusOf(world, name) === 'DELETING'));
    },
    live: [],
    changes: ['DeleteFargateProfile', 'DetachRolePolicy', 'DeleteRole'],
  },
];

const fileOf = ({ file }: Moment): URL => new URL(`worlds/${file}.json`, import.meta.url);

// The files in worlds/ were written by the manager of the release before. WRITE_WORLDS=1 writes them anew: run it in a
// checkout of a release, and copy the files to the next one.
describe('a manager takes over from the release before', () => {
  for (const moment of MOMENTS)
    it(moment.title, async () => {
      if (process.env['WRITE_WORLDS'] === '1') {
        const former = new SimulatedWorld();
        await moment.reach(former);
        former.managers.at(-1)?.kill();
        writeFileSync(fileOf(moment), saveWorld(former));
      }
      const world = await loadWorld(fileOf(moment));
      const identities = () =>
        [...world.aws.admin.profiles(), ...world.aws.admin.roles()].map(({ arn, createdAt }) => `${arn} ${createdAt}`);
      const before = identities();
      world.start();
      const leaving = world
        .objects('awsfargateprofiles')
        .filter(({ metadata }) => !moment.live.includes(metadata.name));
      await world.ready(...moment.live);
      await world.gone(...leaving.map(({ metadata }) => metadata.name));
      const changes = world.mutations().map(({ operation }) => operation);
      expect([...new Set(changes)].filter((operation) => !moment.changes.includes(operation))).to.deep.equal([]);
      if (leaving.length === 0) expect(identities(), 'nothing is made anew').to.include.members(before);
      expect(world.warnings()).to.deep.equal([]);
      await world.deleteAndFinish(...moment.live);
    });
});
