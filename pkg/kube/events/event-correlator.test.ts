import { expect } from 'chai';
import { VirtualClock } from '../../env/testing/virtual-clock.ts';
import { EventCorrelator, type EventOccurrence, type CorrelationResult } from './event-correlator.ts';

function newCorrelator() {
  const clock = new VirtualClock();
  const correlator = new EventCorrelator(clock);
  /**
   * Passes an occurrence to the EventCorrelator, and then updates the EventCorrelator's state as if the Event had been
   * written.
   */
  const correlate = (message: string, more: Partial<EventOccurrence> = {}): CorrelationResult | undefined => {
    const result = correlator.correlate({ objectId: 'a', type: 'Normal', reason: 'Tested', message, ...more });
    if (result === undefined) return undefined;
    const { name, count, firstTimestamp } = result.recorded ?? { name: `e-${result.id}`, count: 0, firstTimestamp: '' };
    correlator.updateState(result.id, { name, count: count + 1, firstTimestamp });
    return result;
  };
  return { clock, correlate, correlator };
}

describe('EventCorrelator', () => {
  it('counts a repeated event on the existing one', () => {
    const { correlate } = newCorrelator();
    const first = correlate('same');
    expect(first).to.include({ recorded: undefined, message: 'same' });
    for (let count = 1; count < 5; count++) expect(correlate('same')).to.have.nested.property('recorded.count', count);
  });

  it('remembers an event under a short id, however long its message is', () => {
    const { correlate } = newCorrelator();
    const long = 'x'.repeat(1_000);
    const first = correlate(long);
    expect(first).to.have.property('id').with.lengthOf.at.most(44);
    expect(correlate(`${long}y`)).to.include({ recorded: undefined });
    expect(correlate(long)).to.include({ id: first?.id }).and.have.nested.property('recorded.count', 1);
  });

  it('creates separate events for different objects, types, reasons or messages', () => {
    const { correlate } = newCorrelator();
    for (const more of [{}, { message: 'other' }, { reason: 'Other' }, { type: 'Warning' }, { objectId: 'b' }] as const)
      expect(correlate('same', more), JSON.stringify(more)).to.include({ recorded: undefined });
  });

  it('combines events from the tenth message of one reason within ten minutes', () => {
    const { correlate } = newCorrelator();
    for (let i = 0; i < 9; i++)
      expect(correlate(`request ${i}`)).to.include({ recorded: undefined, message: `request ${i}` });
    const tenth = correlate('request 9');
    expect(tenth).to.include({ recorded: undefined, message: '(combined from similar events): request 9' });
    const eleventh = correlate('request 10');
    expect(eleventh).to.include({ message: '(combined from similar events): request 10' });
    expect(eleventh).to.have.nested.property('recorded.count', 1);
    expect(correlate('request 11')).to.have.nested.property('recorded.count', 2);
    expect(correlate('alone', { reason: 'Other' })).to.include({ message: 'alone' });
  });

  it('stops combining after more than ten minutes without a similar event', async () => {
    const { correlate, clock } = newCorrelator();
    for (let i = 0; i < 12; i++) correlate(`request ${i}`);
    await clock.advance(600_000);
    expect(correlate('request 12')).to.include({ message: '(combined from similar events): request 12' });
    await clock.advance(600_001);
    expect(correlate('request 13')).to.include({ message: 'request 13' });
  });

  it('allows an object 25 events of a type, then one every five minutes', async () => {
    const { correlate, clock } = newCorrelator();
    for (let i = 0; i < 25; i++) expect(correlate('same')).to.not.equal(undefined);
    expect(correlate('same')).to.equal(undefined);
    expect(correlate('same', { type: 'Warning' })).to.include({ recorded: undefined });
    expect(correlate('same', { objectId: 'b' })).to.include({ recorded: undefined });
    await clock.advance(299_999);
    expect(correlate('same')).to.equal(undefined);
    await clock.advance(1);
    expect(correlate('same')?.recorded).to.not.equal(undefined);
    expect(correlate('same')).to.equal(undefined);
    await clock.advance(30 * 300_000);
    for (let i = 0; i < 25; i++) expect(correlate('same')).to.not.equal(undefined);
    expect(correlate('same')).to.equal(undefined);
  });

  it('forgets objects that no longer exist, fifty at a time, and no others', () => {
    const { correlate, correlator } = newCorrelator();
    const gone = Array.from({ length: 50 }, (_, number) => `gone-${number}`);
    for (const objectId of [...gone, 'kept']) for (let i = 0; i < 25; i++) correlate('same', { objectId });
    for (const objectId of gone.slice(1)) correlator.forget(objectId);
    expect(correlate('same', { objectId: 'gone-1' })).to.equal(undefined);
    correlator.forget('gone-0');
    for (const objectId of gone) expect(correlate('same', { objectId })).to.include({ recorded: undefined });
    expect(correlate('same', { objectId: 'kept' })).to.equal(undefined);
  });
});
