import { expect } from 'chai';
import { isRight } from 'fp-ts/lib/Either.js';
import type { Identity } from '../../api/external/identity.ts';
import { decodeIdentity } from '../../api/external/identity.ts';
import { findDependentIdentities } from './dependent-identities.ts';
import { identityObject } from './testing/objects.ts';

const role = (name: string, sourceKind: string, source: string): Identity => {
  const decoded = decodeIdentity(
    identityObject('AWSClusterRoleIdentity', name, {
      roleARN: 'arn:aws:iam::123456789012:role/any',
      sourceIdentityRef: { kind: sourceKind, name: source },
    }),
  );
  if (!isRight(decoded)) throw new Error('the identity cannot be decoded');
  return decoded.right;
};

describe('findDependentIdentities', () => {
  const identities = [
    // Each identity stands before its source, so that one iteration over the list does not find all dependent
    // identities.
    role('c', 'AWSClusterRoleIdentity', 'b'),
    role('b', 'AWSClusterRoleIdentity', 'a'),
    role('a', 'AWSClusterStaticIdentity', 'keys'),
    role('other', 'AWSClusterStaticIdentity', 'others'),
    role('same name', 'AWSClusterRoleIdentity', 'keys'),
  ];

  it('finds the changed identity and all that use it as source, directly or indirectly', () => {
    expect([
      ...findDependentIdentities([{ kind: 'AWSClusterStaticIdentity', name: 'keys' }], identities),
    ]).to.have.members([
      'AWSClusterStaticIdentity "keys"',
      'AWSClusterRoleIdentity "a"',
      'AWSClusterRoleIdentity "b"',
      'AWSClusterRoleIdentity "c"',
    ]);
  });

  it('ends when identities form a loop', () => {
    const loop = [role('x', 'AWSClusterRoleIdentity', 'y'), role('y', 'AWSClusterRoleIdentity', 'x')];
    expect([...findDependentIdentities([{ kind: 'AWSClusterRoleIdentity', name: 'x' }], loop)]).to.have.members([
      'AWSClusterRoleIdentity "x"',
      'AWSClusterRoleIdentity "y"',
    ]);
  });
});
