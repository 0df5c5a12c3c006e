import { expect } from 'chai';
import type { Ms } from '../../pkg/env/clock.ts';
import type { FaultKind } from '../aws/faults.ts';
import { KernelWorld, MINUTE } from './world.ts';

const NAMES = ['a', 'b', 'c'];
const HOUR: Ms = 60 * MINUTE;
const DAY: Ms = 24 * HOUR;
/** --sync-period, by default. */
const RESYNC: Ms = 10 * MINUTE;

/** A world with these objects Ready, the first resync of each behind it. */
async function atRest(world: KernelWorld, ...flags: readonly string[]): Promise<void> {
  world.start(...flags);
  world.apply(...NAMES);
  await world.ready(...NAMES);
  await world.clock.advance(1.1 * RESYNC);
}

describe('objects at rest', () => {
  it('cost three reads of AWS a resync, and no write, for a whole day', async () => {
    const world = new KernelWorld();
    await atRest(world);
    const writes = world.writes.length;
    const afterSeq = world.aws.admin.calls().length;
    await world.clock.advance(DAY);

    expect(world.writes.slice(writes)).to.deep.equal([]);
    const calls = world.aws.admin.calls({ afterSeq });
    expect(calls.filter(({ mutates }) => mutates)).to.deep.equal([]);
    const resyncs = calls.filter(({ operation }) => operation === 'DescribeFargateProfile').length;
    expect(resyncs / NAMES.length, 'resyncs of an object').to.be.within(DAY / RESYNC / 1.1, DAY / RESYNC / 0.9);
    expect(calls.length, 'reads').to.be.at.most(3 * resyncs);
    world.delete(...NAMES);
    await world.gone(...NAMES);
    await world.finish();
    expect(world.troubles()).to.deep.equal([]);
  });

  it('are left alone by a manager that begins, until their own time', async () => {
    const world = new KernelWorld();
    await atRest(world);
    for (const manager of world.managers) await world.stop(manager);
    const writes = world.writes.length;
    const afterSeq = world.aws.admin.calls().length;
    const begin = world.clock.now();
    world.start();
    await world.clock.advance(RESYNC);

    expect(world.writes.slice(writes)).to.deep.equal([]);
    const calls = world.aws.admin.calls({ afterSeq });
    const resyncs = calls.filter(({ operation }) => operation === 'DescribeFargateProfile').map(({ at }) => at - begin);
    expect(resyncs, 'one for each').to.have.length(NAMES.length);
    expect(Math.max(...resyncs) - Math.min(...resyncs), 'they do not come together').to.be.above(MINUTE);
    expect(calls.length, 'reads, and who we are').to.equal(3 * NAMES.length + 1);
    world.delete(...NAMES);
    await world.gone(...NAMES);
    await world.finish();
  });
});

describe('an outage of AWS', () => {
  const kinds: readonly FaultKind[] = ['500-before', 'no-answer-before', 'html-503'];
  for (const kind of kinds)
    it(`leaves Ready True for a quarter of an hour, then Unknown until it is over (${kind})`, async () => {
      const world = new KernelWorld();
      await atRest(world, '--sync-period', '1m');
      const changes = world.readyChanges('a');
      const begin = world.aws.admin.calls().length;
      const fault = world.aws.admin.addFault({ operation: '*', kind });
      await world.until('Ready is Unknown', () => changes.length > 0, HOUR);
      const [failed] = world.aws.admin.calls({ afterSeq: begin });
      const [doubted] = changes;
      expect(doubted?.status).to.equal('Unknown');
      expect((doubted?.at ?? 0) - (failed?.at ?? 0), 'from the first failed call to the doubt').to.be.within(
        15 * MINUTE,
        17 * MINUTE,
      );
      world.aws.admin.removeFault({ id: fault });
      const end = world.clock.now();
      await world.ready(...NAMES);
      expect(world.clock.now() - end).to.be.below(2 * MINUTE);
      expect(changes.map(({ status }) => status)).to.deep.equal(['Unknown', 'True']);
      world.delete(...NAMES);
      await world.gone(...NAMES);
      await world.finish();
    });

  it('of ten minutes moves nothing', async () => {
    const world = new KernelWorld();
    await atRest(world, '--sync-period', '1m');
    const changes = world.readyChanges('a');
    const fault = world.aws.admin.addFault({ operation: '*', kind: '500-before' });
    await world.clock.advance(10 * MINUTE);
    world.aws.admin.removeFault({ id: fault });
    await world.clock.advance(5 * MINUTE);
    expect(changes).to.deep.equal([]);
    expect(world.mutations().filter(({ fault: struck }) => struck !== undefined)).to.deep.equal([]);
    world.delete(...NAMES);
    await world.gone(...NAMES);
    await world.finish();
  });
});
