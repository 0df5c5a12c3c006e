import { expect } from 'chai';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import { EventCorrelator, type Occurrence, type Verdict } from './event-correlator.ts';

function newCorrelator() {
  const clock = new VirtualClock();
  const correlator = new EventCorrelator(clock);
  /** Judges and, as the server would, takes what is to be written. */
  const tell = (message: string, more: Partial<Occurrence> = {}): Verdict => {
    const verdict = correlator.judge({ objectId: 'a', type: 'Normal', reason: 'Tested', message, ...more });
    if (verdict.kind === 'create')
      correlator.remember(verdict.id, { name: `e-${verdict.id}`, count: 1, firstTimestamp: '' });
    if (verdict.kind === 'update')
      correlator.remember(verdict.id, { ...verdict.recorded, count: verdict.recorded.count + 1 });
    return verdict;
  };
  return { clock, tell };
}

describe('EventCorrelator', () => {
  it('counts a repetition on the event that is there', () => {
    const { tell } = newCorrelator();
    const first = tell('same');
    expect(first).to.include({ kind: 'create', message: 'same' });
    for (let count = 1; count < 5; count++) expect(tell('same')).to.have.nested.property('recorded.count', count);
  });

  it('tells apart what differs in object, type, reason or message', () => {
    const { tell } = newCorrelator();
    const kinds = [
      tell('same'),
      tell('other'),
      tell('same', { reason: 'Other' }),
      tell('same', { type: 'Warning' }),
      tell('same', { objectId: 'b' }),
    ].map(({ kind }) => kind);
    expect(kinds).to.deep.equal(['create', 'create', 'create', 'create', 'create']);
  });

  it('combines from the tenth different message of one reason within ten minutes', () => {
    const { tell } = newCorrelator();
    for (let i = 0; i < 9; i++) expect(tell(`request ${i}`)).to.include({ kind: 'create', message: `request ${i}` });
    const tenth = tell('request 9');
    expect(tenth).to.include({ kind: 'create', message: '(combined from similar events): request 9' });
    const eleventh = tell('request 10');
    expect(eleventh).to.include({ kind: 'update', message: '(combined from similar events): request 10' });
    expect(tell('request 11')).to.have.nested.property('recorded.count', 2);
    expect(tell('alone', { reason: 'Other' })).to.include({ message: 'alone' });
  });

  it('stops combining when nothing similar came for more than ten minutes', async () => {
    const { tell, clock } = newCorrelator();
    for (let i = 0; i < 12; i++) tell(`request ${i}`);
    await clock.advance(600_000);
    expect(tell('request 12')).to.include({ message: '(combined from similar events): request 12' });
    await clock.advance(600_001);
    expect(tell('request 13')).to.include({ message: 'request 13' });
  });

  it('gives an object 25 events of a type, then one every five minutes', async () => {
    const { tell, clock } = newCorrelator();
    for (let i = 0; i < 25; i++) expect(tell('same').kind).to.not.equal('drop');
    expect(tell('same').kind).to.equal('drop');
    expect(tell('same', { type: 'Warning' }).kind).to.equal('create');
    expect(tell('same', { objectId: 'b' }).kind).to.equal('create');
    await clock.advance(299_999);
    expect(tell('same').kind).to.equal('drop');
    await clock.advance(1);
    expect(tell('same').kind).to.equal('update');
    expect(tell('same').kind).to.equal('drop');
    await clock.advance(30 * 300_000);
    for (let i = 0; i < 25; i++) expect(tell('same').kind).to.not.equal('drop');
    expect(tell('same').kind).to.equal('drop');
  });
});
