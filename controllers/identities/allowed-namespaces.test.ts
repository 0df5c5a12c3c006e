import { expect } from 'chai';
import type { AllowedNamespaces } from '../../api/external/identity.ts';
import { checkAllowedNamespaces } from './allowed-namespaces.ts';
import { evaluateSelector } from './label-selector.ts';
import { isRight } from 'fp-ts/lib/Either.js';

type Allowed = AllowedNamespaces | null | undefined;

/**
 * For each `allowedNamespaces` of an identity: whether `isClusterPermittedToUsePrincipal` of Cluster API Provider AWS
 * permits the namespace `team-a`, whose label is `team: a`.
 */
const TABLE: readonly (readonly [allowed: Allowed, permitted: boolean, reason: string])[] = [
  [undefined, false, 'nil matches no namespace'],
  [null, false, 'nil matches no namespace'],
  [{}, true, 'equal to the empty struct'],
  [{ list: null }, true, 'a nil list in an empty struct'],
  [{ selector: {} }, true, 'an empty selector in an empty struct'],
  [{ list: null, selector: {} }, true, 'the value that CAPA sets for the identity "default"'],
  [{ list: [] }, false, 'an empty list is not a nil list'],
  [{ list: [], selector: {} }, false, 'an empty list is not a nil list'],
  [{ list: ['team-a'] }, true, 'listed'],
  [{ list: ['team-b', 'team-a'] }, true, 'listed'],
  [{ list: ['team-b'] }, false, 'another namespace is listed'],
  [{ list: ['TEAM-A'] }, false, 'names are case-sensitive'],
  [{ list: ['team-*'] }, false, 'a list has no wildcards'],
  [{ list: ['team-b'], selector: {} }, false, 'an empty selector beside a list selects no namespace'],
  [{ list: ['team-a'], selector: { matchLabels: { team: 'b' } } }, true, 'listed, although not selected'],
  [{ list: ['team-b'], selector: { matchLabels: { team: 'a' } } }, true, 'selected, although not listed'],
  [{ list: [], selector: { matchLabels: { team: 'a' } } }, true, 'selected, although the list is empty'],
  [{ selector: { matchLabels: { team: 'a' } } }, true, 'selected'],
  [{ selector: { matchLabels: { team: 'b' } } }, false, 'not selected'],
  [{ selector: { matchLabels: { team: 'a', stage: 'x' } } }, false, 'all labels must match'],
  [
    { selector: { matchLabels: {} } },
    false,
    'a selector with an empty map is not the empty struct, and selects no namespace',
  ],
  [
    { selector: { matchExpressions: [] } },
    false,
    'a selector with an empty list is not the empty struct, and selects no namespace',
  ],
  [{ list: null, selector: { matchLabels: {} } }, false, 'a selector with an empty map beside a nil list'],
  [{ selector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] } }, true, 'selected by an expression'],
  [{ selector: { matchExpressions: [{ key: 'stage', operator: 'Exists' }] } }, false, 'not selected by an expression'],
];

describe('allowedNamespaces', () => {
  for (const [allowed, permitted, reason] of TABLE)
    it(`${JSON.stringify(allowed)} ${permitted ? 'allows the namespace' : 'denies the namespace'}: ${reason}`, () => {
      const permission = checkAllowedNamespaces(allowed, 'team-a');
      const selected =
        permission.kind === 'dependsOnLabels' ? evaluateSelector(permission.selector, { team: 'a' }) : undefined;
      const isPermitted = selected === undefined ? permission.kind === 'granted' : isRight(selected) && selected.right;
      expect(isPermitted).to.equal(permitted);
    });

  it('does not depend on labels when the list or the lack of a selector decides', () => {
    const decided = TABLE.filter(([allowed]) => allowed?.list?.includes('team-a') || !allowed?.selector);
    expect(decided).to.have.length.above(8);
    for (const [allowed] of decided)
      expect(checkAllowedNamespaces(allowed, 'team-a').kind).to.not.equal('dependsOnLabels');
  });
});
