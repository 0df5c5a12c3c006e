import { expect } from 'chai';
import { joinParts, joinSentences } from './message.ts';

describe('joinParts', () => {
  it('puts the problem first, then the remedy, then what the controller does, then the quote', () =>
    expect(
      joinParts({
        quote: { by: 'AWS', said: 'No.' },
        outlook: 'The controller keeps retrying',
        remedy: 'Fix it',
        problem: 'The role is missing',
      }),
    ).to.equal('The role is missing. Fix it. The controller keeps retrying. AWS says: No.'));

  it('quotes an error that no server sent', () =>
    expect(joinParts({ problem: 'AWS does not answer', quote: { said: 'timeout' } })).to.equal(
      'AWS does not answer. Error: timeout.',
    ));

  it('adds no period to a problem alone', () =>
    expect(joinParts({ problem: 'EKS is creating the profile' })).to.equal('EKS is creating the profile'));
});

describe('joinSentences', () => {
  it('joins messages that end with a period and others', () =>
    expect(joinSentences(['One.', undefined, 'Two', 'Three.'])).to.equal('One. Two. Three.'));

  it('leaves a single text as it is', () =>
    expect([['One'], ['One. Two.']].map(joinSentences)).to.deep.equal(['One', 'One. Two.']));
});
