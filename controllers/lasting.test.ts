import { expect } from 'chai';
import { KubeError } from '../pkg/kube/errors.ts';
import { Lasting } from './lasting.ts';

const KEY = { namespace: 'team-a', name: 'web' };
const OTHER = { namespace: 'team-a', name: 'api' };
const MINUTE = 60_000;

const inTrouble = new KubeError('patching it: etcdserver: mvcc: database space exceeded', {
  status: 500,
  reason: 'InternalError',
});
const silent = new KubeError('patching it: no answer', { status: 0, reason: 'NoAnswer' });

describe('Lasting', () => {
  let now: number;
  let lasting: Lasting;
  beforeEach(() => {
    now = 0;
    lasting = new Lasting({ monotonic: () => now });
  });

  it('tells a conflict that lasts for a minute', () => {
    expect(lasting.conflict(KEY)).to.equal(undefined);
    now = MINUTE - 1;
    expect(lasting.conflict(KEY)).to.equal(undefined);
    now = MINUTE;
    expect(lasting.conflict(OTHER), 'of another object').to.equal(undefined);
    expect(lasting.conflict(KEY)?.words).to.match(/^somebody else changes the object all the time/);
  });

  it('tells an error of the API server that lasts, in its words', () => {
    lasting.failure(KEY, inTrouble);
    now = MINUTE;
    expect(lasting.failure(KEY, inTrouble)).to.deep.equal({
      words: inTrouble.message,
      cure: 'See to the API server',
    });
  });

  it('begins anew once something went well', () => {
    lasting.failure(KEY, inTrouble);
    now = MINUTE;
    lasting.over(KEY);
    expect(lasting.failure(KEY, inTrouble)).to.equal(undefined);
  });

  it('has nothing to say of a server that does not answer, or of our own mistakes', () => {
    for (const error of [silent, new TypeError('x is not a function')]) {
      now = 0;
      lasting.failure(KEY, error);
      now = MINUTE;
      expect(lasting.failure(KEY, error)).to.equal(undefined);
    }
  });
});
