import { expect } from 'chai';
import type { AllowedNamespaces } from '../../api/external/identity.ts';
import { permissionFor } from './permission.ts';
import { selects } from './selector.ts';
import { isRight } from 'fp-ts/lib/Either.js';

type Allowed = AllowedNamespaces | null | undefined;

/** For namespace `team-a` with the label `team: a`, as `isClusterPermittedToUsePrincipal` of CAPA decides. */
const TABLE: readonly (readonly [allowed: Allowed, permitted: boolean, why: string])[] = [
  [undefined, false, 'nil matches no namespace'],
  [null, false, 'nil matches no namespace'],
  [{}, true, 'equal to the empty struct'],
  [{ list: null }, true, 'a nil list in an empty struct'],
  [{ selector: {} }, true, 'an empty selector in an empty struct'],
  [{ list: null, selector: {} }, true, 'what CAPA makes for the identity "default"'],
  [{ list: [] }, false, 'an empty list is no nil list'],
  [{ list: [], selector: {} }, false, 'an empty list is no nil list'],
  [{ list: ['team-a'] }, true, 'listed'],
  [{ list: ['team-b', 'team-a'] }, true, 'listed'],
  [{ list: ['team-b'] }, false, 'another is listed'],
  [{ list: ['TEAM-A'] }, false, 'names are compared as they are'],
  [{ list: ['team-*'] }, false, 'a list has no wildcards'],
  [{ list: ['team-b'], selector: {} }, false, 'an empty selector beside a list selects nothing'],
  [{ list: ['team-a'], selector: { matchLabels: { team: 'b' } } }, true, 'listed, whatever the selector says'],
  [{ list: ['team-b'], selector: { matchLabels: { team: 'a' } } }, true, 'selected, though not listed'],
  [{ list: [], selector: { matchLabels: { team: 'a' } } }, true, 'selected, though nothing is listed'],
  [{ selector: { matchLabels: { team: 'a' } } }, true, 'selected'],
  [{ selector: { matchLabels: { team: 'b' } } }, false, 'not selected'],
  [{ selector: { matchLabels: { team: 'a', stage: 'x' } } }, false, 'all labels must match'],
  [{ selector: { matchLabels: {} } }, false, 'a map that is there but empty: no empty struct, and nothing selected'],
  [{ selector: { matchExpressions: [] } }, false, 'a list that is there but empty: likewise'],
  [{ list: null, selector: { matchLabels: {} } }, false, 'likewise'],
  [{ selector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] } }, true, 'selected by an expression'],
  [{ selector: { matchExpressions: [{ key: 'stage', operator: 'Exists' }] } }, false, 'not selected by an expression'],
];

describe('allowedNamespaces', () => {
  for (const [allowed, permitted, why] of TABLE)
    it(`${JSON.stringify(allowed)} ${permitted ? 'lets in' : 'keeps out'}: ${why}`, () => {
      const permission = permissionFor(allowed, 'team-a');
      const selected = permission.kind === 'byLabels' ? selects(permission.selector, { team: 'a' }) : undefined;
      const isPermitted = selected === undefined ? permission.kind === 'granted' : isRight(selected) && selected.right;
      expect(isPermitted).to.equal(permitted);
    });

  it('needs no labels where a list or nothing at all decides', () => {
    const decided = TABLE.filter(([allowed]) => allowed?.list?.includes('team-a') || !allowed?.selector);
    expect(decided).to.have.length.above(8);
    for (const [allowed] of decided) expect(permissionFor(allowed, 'team-a').kind).to.not.equal('byLabels');
  });
});
