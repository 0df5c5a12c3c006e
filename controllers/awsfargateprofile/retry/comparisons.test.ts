import { expect } from 'chai';
import { keyOf } from '../../../pkg/kube/object-key.ts';
import { aProfile, aRole, anObject, desiredOf, observed } from '../testing/builders.ts';
import { Comparisons } from './comparisons.ts';

describe('Comparisons', () => {
  const object = anObject();
  const desired = desiredOf(object);
  const seen = observed({ profile: aProfile(), role: aRole() });
  const recorded = (): Comparisons => {
    const comparisons = new Comparisons();
    comparisons.record(object, desired, seen);
    return comparisons;
  };

  it('let one pass compare the profile alone, and the next one not', () => {
    const comparisons = recorded();
    expect(comparisons.take(object)?.(desired, seen)).to.equal(true);
    expect(comparisons.take(object)).to.equal(undefined);
  });

  it('find a profile that has changed', () => {
    const changed = observed({ profile: aProfile({ status: 'DELETING' }), role: aRole() });
    expect(recorded().take(object)?.(desired, changed)).to.equal(false);
    expect(recorded().take(object)?.(desired, { ...seen, cluster: 'gone' })).to.equal(false);
  });

  it('find another desired state, for example because the control plane has other tags', () => {
    const other = { ...desired, identity: { ...desired.identity, name: 'other' } };
    expect(recorded().take(object)?.(other, seen)).to.equal(false);
  });

  it('do not count for another version of the object, another object of its name, or an object that was gone', () => {
    expect(recorded().take(anObject({ metadata: { resourceVersion: '2' } }))).to.equal(undefined);
    expect(recorded().take(anObject({ metadata: { uid: 'another' } }))).to.equal(undefined);
    const comparisons = recorded();
    comparisons.forget(keyOf(object));
    expect(comparisons.take(object)).to.equal(undefined);
  });
});
