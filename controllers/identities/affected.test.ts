import { expect } from 'chai';
import { isRight } from 'fp-ts/lib/Either.js';
import type { Identity } from '../../api/external/identity.ts';
import { decodeIdentity } from '../../api/external/identity.ts';
import { dependants } from './affected.ts';
import { identityObject } from './testing/objects.ts';

const role = (name: string, sourceKind: string, source: string): Identity => {
  const decoded = decodeIdentity(
    identityObject('AWSClusterRoleIdentity', name, {
      roleARN: 'arn:aws:iam::123456789012:role/any',
      sourceIdentityRef: { kind: sourceKind, name: source },
    }),
  );
  if (!isRight(decoded)) throw new Error('no identity');
  return decoded.right;
};

describe('a change of an identity', () => {
  const identities = [
    // In an order in which one look at each would not do.
    role('c', 'AWSClusterRoleIdentity', 'b'),
    role('b', 'AWSClusterRoleIdentity', 'a'),
    role('a', 'AWSClusterStaticIdentity', 'keys'),
    role('other', 'AWSClusterStaticIdentity', 'others'),
    role('same name', 'AWSClusterRoleIdentity', 'keys'),
  ];

  it('concerns all whose credentials come from it, and itself', () => {
    expect([...dependants([{ kind: 'AWSClusterStaticIdentity', name: 'keys' }], identities)]).to.have.members([
      'AWSClusterStaticIdentity "keys"',
      'AWSClusterRoleIdentity "a"',
      'AWSClusterRoleIdentity "b"',
      'AWSClusterRoleIdentity "c"',
    ]);
  });

  it('ends in a circle', () => {
    const circle = [role('x', 'AWSClusterRoleIdentity', 'y'), role('y', 'AWSClusterRoleIdentity', 'x')];
    expect([...dependants([{ kind: 'AWSClusterRoleIdentity', name: 'x' }], circle)]).to.have.members([
      'AWSClusterRoleIdentity "x"',
      'AWSClusterRoleIdentity "y"',
    ]);
  });
});
