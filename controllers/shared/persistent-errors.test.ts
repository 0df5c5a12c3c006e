import { expect } from 'chai';
import { KubeError } from 'controller-runtime/client';
import { apiRejectionFrom } from './api-rejections.ts';
import { PersistentErrors } from './persistent-errors.ts';

const KEY = { namespace: 'team-a', name: 'web' };
const OTHER = { namespace: 'team-a', name: 'api' };
const MINUTE = 60_000;

const inTrouble = new KubeError('patching it: etcdserver: mvcc: database space exceeded', {
  status: 500,
  reason: 'InternalError',
});
const silent = new KubeError('patching it: no answer', { status: 0, reason: 'NoAnswer' });

describe('PersistentErrors', () => {
  let now: number;
  let errors: PersistentErrors;
  beforeEach(() => {
    now = 0;
    errors = new PersistentErrors({ monotonic: () => now });
  });

  it('reports a conflict after a minute', () => {
    expect(errors.conflict(KEY)).to.equal(undefined);
    now = MINUTE - 1;
    expect(errors.conflict(KEY)).to.equal(undefined);
    now = MINUTE;
    expect(errors.conflict(OTHER), 'of another object').to.equal(undefined);
    expect(errors.conflict(KEY)?.message).to.match(/^another client changes this object again and again/);
  });

  it('reports an error of the API server after a minute, with the words of the API server', () => {
    errors.failure(KEY, inTrouble);
    now = MINUTE;
    expect(errors.failure(KEY, inTrouble)).to.deep.equal({
      message: inTrouble.message,
      remedy: 'Check the health of the API server',
    });
    errors.clear(KEY);
    expect(errors.failure(KEY, inTrouble), 'after a success').to.equal(undefined);
  });

  it('immediately reports an error that only a user can fix', () => {
    const forbidden = new KubeError('patching it: forbidden', { status: 403, reason: 'Forbidden' });
    expect(errors.failure(KEY, forbidden)).to.deep.equal(apiRejectionFrom(forbidden)).and.not.to.equal(undefined);
  });

  it('reports neither a missing answer nor a programming error', () => {
    for (const error of [silent, new TypeError('x is not a function')]) {
      now = 0;
      errors.failure(KEY, error);
      now = MINUTE;
      expect(errors.failure(KEY, error)).to.equal(undefined);
    }
  });
});
