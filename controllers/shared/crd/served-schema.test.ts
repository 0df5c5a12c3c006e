import { expect } from 'chai';
import { createKubeClient } from 'controller-runtime/client';
import { json, MemoryLogger, VirtualClock } from 'controller-runtime/testing';
import { crd } from '../../../api/v1beta2/crd.ts';
import { ServedSchema } from './served-schema.ts';

describe('the served schema, with a CRD keeper', () => {
  let isForeign: boolean;
  let reads: number;
  let schema: ServedSchema;
  let clock: VirtualClock;
  const { signal } = new AbortController();

  beforeEach(() => {
    clock = new VirtualClock();
    isForeign = false;
    reads = 0;
    const transport = {
      host: 'kubernetes.test',
      send: async () => {
        reads += 1;
        const metadata = { ...crd.metadata, uid: 'u', resourceVersion: '1' };
        return json(200, { ...crd, metadata, spec: isForeign ? {} : crd.spec });
      },
    };
    const client = createKubeClient({ clock, transport });
    schema = new ServedSchema({ client, clock, logger: new MemoryLogger(), metrics: { foreign: () => {} } });
  });

  it('tells of a foreign CRD what the keeper does about it', async () => {
    isForeign = true;
    schema.setKeeper({ kind: 'restoring' });
    expect(await schema.check(signal)).to.deep.include({ kind: 'foreign', keeper: { kind: 'restoring' } });
    schema.setKeeper(undefined);
    expect(await schema.check(signal)).to.not.have.property('keeper');
  });

  it('is read again after the keeper has seen or made a change', async () => {
    await schema.checkRecently(signal);
    isForeign = true;
    expect(await schema.checkRecently(signal), 'still recent').to.deep.equal({ kind: 'ours' });
    schema.setKeeper({ kind: 'restoring' });
    expect(await schema.checkRecently(signal)).to.deep.include({ kind: 'foreign' });
    schema.setKeeper({ kind: 'restoring' });
    await schema.checkRecently(signal);
    expect(reads, 'no read without a change').to.equal(2);
  });

  it('is settled five minutes after the last check that found a CRD that another provider has installed', async () => {
    await schema.check(signal);
    expect(schema.isSettled()).to.equal(true);
    isForeign = true;
    await clock.advance(2_000);
    await schema.check(signal);
    isForeign = false;
    await clock.advance(2_000);
    expect(await schema.check(signal)).to.deep.equal({ kind: 'ours' });
    await clock.advance(5 * 60_000 - 2_001);
    expect(schema.isSettled()).to.equal(false);
    await clock.advance(1);
    expect(schema.isSettled()).to.equal(true);
  });
});
