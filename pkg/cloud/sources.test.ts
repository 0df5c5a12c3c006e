import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { ownSource } from './sources.ts';
import type { IdentityRef } from './types.ts';

const own = { key: 'manager', fetch: () => Promise.reject(new Error('not asked for')) };

const find = (identity: IdentityRef | undefined): Promise<unknown> =>
  ownSource(own).find(identity, 'default', new AbortController().signal)();

describe('the source of an identity', () => {
  it("is the manager's own where the control plane names none", async () => {
    expect(await find(undefined)).to.deep.equal(E.right(own));
  });

  it("is the manager's own for the identity that stands for it", async () => {
    expect(await find({ kind: 'AWSClusterControllerIdentity', name: 'default' })).to.deep.equal(E.right(own));
  });

  it('is none for another of that kind', async () => {
    const found = await find({ kind: 'AWSClusterControllerIdentity', name: 'other' });
    expect(found).to.have.nested.property('left.reason', 'IdentityNotFound');
    expect(found).to.have.nested.property('left.message').that.contains('AWSClusterControllerIdentity "other"');
  });

  for (const kind of ['AWSClusterRoleIdentity', 'AWSClusterStaticIdentity']) {
    it(`is refused in words for ${kind}`, async () => {
      const found = await find({ kind, name: 'team' });
      expect(found).to.have.nested.property('left.reason', 'IdentityInvalid');
      expect(found).to.have.nested.property('left.message').that.contains(`${kind} "team"`);
    });
  }
});
