import { expect } from 'chai';
import { VirtualClock } from '../testing/virtual-clock.ts';
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
  return { clock, correlate };
}

describe('EventCorrelator', () => {
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
});
