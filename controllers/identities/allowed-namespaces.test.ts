import { expect } from 'chai';
import type { AllowedNamespaces } from '../../api/external/identity.ts';
import { checkAllowedNamespaces, evaluateSelector } from './allowed-namespaces.ts';
import * as E from 'fp-ts/lib/Either.js';

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
  [{ selector: { matchLabels: {} } }, false, 'an empty map is not the empty struct, and selects no namespace'],
  [{ selector: { matchExpressions: [] } }, false, 'an empty list is not the empty struct, and selects no namespace'],
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
      const isPermitted =
        selected === undefined ? permission.kind === 'granted' : E.isRight(selected) && selected.right;
      expect(isPermitted).to.equal(permitted);
    });
});

const LABELS = { team: 'a', 'example.org/stage': 'production', empty: '' };

describe('a label selector', () => {
  for (const [key, operator, values, selected] of [
    ['team', 'In', ['a'], true],
    ['team', 'In', ['b', 'a'], true],
    ['team', 'In', ['b'], false],
    ['absent', 'In', ['a'], false],
    ['empty', 'In', [''], true],
    ['team', 'NotIn', ['a'], false],
    ['team', 'NotIn', ['b'], true],
    ['absent', 'NotIn', ['a'], true],
    ['team', 'Exists', undefined, true],
    ['absent', 'Exists', [], false],
    ['toString', 'Exists', undefined, false],
    ['team', 'DoesNotExist', undefined, false],
    ['absent', 'DoesNotExist', undefined, true],
    ['example.org/stage', 'In', ['production'], true],
  ] as const)
    it(`${key} ${operator} ${(values ?? []).join(',')} ${selected ? 'selects' : 'does not select'}`, () => {
      const expression = { key, operator, ...(values !== undefined && { values }) };
      expect(evaluateSelector({ matchExpressions: [expression] }, LABELS)).to.deep.equal(E.right(selected));
    });

  it('selects labels that meet all requirements', () => {
    const matchExpressions = [{ key: 'absent', operator: 'DoesNotExist' }];
    expect(evaluateSelector({ matchLabels: { team: 'a' }, matchExpressions }, LABELS)).to.deep.equal(E.right(true));
    expect(evaluateSelector({ matchLabels: { team: 'b' }, matchExpressions }, LABELS)).to.deep.equal(E.right(false));
  });

  for (const [key, operator, values, problem] of [
    ['team', 'in', ['a'], '"in" is not an operator of a label selector'],
    ['team', 'In', [], 'operator In for key "team" needs values'],
    ['absent', 'NotIn', undefined, 'operator NotIn for key "absent" needs values'],
    ['absent', 'DoesNotExist', ['x'], 'operator DoesNotExist for key "absent" takes no values'],
    ['team', 'Exists', ['a'], 'operator Exists for key "team" takes no values'],
    ['', 'DoesNotExist', undefined, '"" is not a label key'],
    ['no key', 'DoesNotExist', undefined, '"no key" is not a label key'],
    ['Example.org/x', 'DoesNotExist', undefined, '"Example.org/x" is not a label key'],
    ['a/b/c', 'DoesNotExist', undefined, '"a/b/c" is not a label key'],
    ['x'.repeat(64), 'DoesNotExist', undefined, `"${'x'.repeat(64)}" is not a label key`],
    ['team', 'NotIn', ['no value'], '"no value" is not a label value'],
  ] as const)
    it(`with ${key} ${operator} ${(values ?? []).join(',')} is invalid`, () => {
      const expression = { key, operator, ...(values !== undefined && { values }) };
      expect(evaluateSelector({ matchExpressions: [expression] }, LABELS)).to.deep.equal(E.left(problem));
    });
});
