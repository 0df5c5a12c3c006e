import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import type { Lookup } from '../../pkg/kube/store.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { World } from './resolve.ts';
import { resolve } from './resolve.ts';
import { identityObject, namespaceObject } from './testing/objects.ts';

const [CONTROLLER, STATIC, ROLE] = [
  'AWSClusterControllerIdentity',
  'AWSClusterStaticIdentity',
  'AWSClusterRoleIdentity',
] as const;
const ARN = 'arn:aws:iam::123456789012:role/any';

const keys = (name: string, spec: object = {}) => identityObject(STATIC, name, { secretRef: name, ...spec });
const role = (name: string, source?: readonly [kind: string, name: string], spec: object = {}) =>
  identityObject(ROLE, name, {
    roleARN: ARN,
    ...(source !== undefined && { sourceIdentityRef: { kind: source[0], name: source[1] } }),
    ...spec,
  });
const manager = (spec: object = {}) => identityObject(CONTROLLER, 'default', spec);

function worldOf(objects: readonly KubeObject[], unknown: Readonly<Record<string, string>> = {}): World {
  const lookup = (kind: string, name: string): Lookup => {
    const why = unknown[kind];
    if (why !== undefined) return { kind: 'unknown', why };
    const object = objects.find((each) => each.kind === kind && each.metadata.name === name);
    return object === undefined ? { kind: 'absent' } : { kind: 'found', object };
  };
  return { identity: lookup, namespace: (name) => lookup('Namespace', name) };
}

describe('an identity', () => {
  function chainOf(reference: readonly [string, string] | undefined, world: World) {
    const identity = reference && { kind: reference[0], name: reference[1] };
    const resolved = resolve(identity, 'team-a', world);
    if (E.isLeft(resolved)) return `${resolved.left.reason}: ${resolved.left.message}`;
    const { root, roles } = resolved.right;
    return [root?.metadata.name ?? '(the manager)', ...roles.map(({ metadata }) => metadata.name)].join(' → ');
  }

  describe('leads to where its credentials come from:', () => {
    for (const { what, reference, objects, chain } of [
      { what: 'none', reference: undefined, objects: [], chain: '(the manager)' },
      { what: 'the manager’s own', reference: [CONTROLLER, 'default'], objects: [manager()], chain: '(the manager)' },
      { what: 'static keys', reference: [STATIC, 'keys'], objects: [keys('keys')], chain: 'keys' },
      { what: 'a role of the manager', reference: [ROLE, 'r'], objects: [role('r')], chain: '(the manager) → r' },
      {
        what: 'a role of the manager, said outright',
        reference: [ROLE, 'r'],
        objects: [role('r', [CONTROLLER, 'default']), manager()],
        chain: '(the manager) → r',
      },
      {
        what: 'a chain of roles',
        reference: [ROLE, 'c'],
        objects: [role('c', [ROLE, 'b']), role('b', [ROLE, 'a']), role('a', [STATIC, 'keys']), keys('keys')],
        chain: 'keys → a → b → c',
      },
      {
        what: 'one that has the name of another kind’s',
        reference: [ROLE, 'same'],
        objects: [role('same', [STATIC, 'same']), keys('same')],
        chain: 'same → same',
      },
    ] as const)
      it(what, () => expect(chainOf(reference, worldOf(objects))).to.equal(chain));
  });

  describe('leads nowhere', () => {
    const labelled = { allowedNamespaces: { selector: { matchLabels: { team: 'a' } } } };
    const refused = (name: string, why: string): string =>
      `IdentityNotAllowed: ${name} may not be used for objects of namespace "team-a": ${why}`;
    const notNamed = 'its spec.allowedNamespaces does not name or select it';
    for (const { what, reference, objects, unknown, problem } of [
      {
        what: 'where it does not exist',
        reference: [STATIC, 'keys'],
        objects: [],
        problem:
          'IdentityNotFound: spec.identityRef of the control plane names AWSClusterStaticIdentity "keys", which does not exist',
      },
      {
        what: 'where its source does not exist',
        reference: [ROLE, 'r'],
        objects: [role('r', [STATIC, 'keys'])],
        problem:
          'IdentityNotFound: spec.sourceIdentityRef of AWSClusterRoleIdentity "r" names AWSClusterStaticIdentity "keys", which does not exist',
      },
      {
        what: 'where its kind is not served',
        reference: [STATIC, 'keys'],
        objects: [],
        unknown: { [STATIC]: 'not served' },
        problem:
          'IdentityUnreadable: spec.identityRef of the control plane names AWSClusterStaticIdentity "keys", which cannot be read: not served',
      },
      {
        what: 'where it is of a strange kind',
        reference: ['AWSPodIdentity', 'x'],
        objects: [],
        problem:
          'IdentityInvalid: spec.identityRef of the control plane names AWSPodIdentity "x", which is of no known kind of identity',
      },
      {
        what: 'for another controller identity than the one there is',
        reference: [CONTROLLER, 'other'],
        objects: [identityObject(CONTROLLER, 'other')],
        problem:
          'IdentityInvalid: spec.identityRef of the control plane names AWSClusterControllerIdentity "other", but the only one there can be is "default"',
      },
      {
        what: 'where it cannot be understood',
        reference: [ROLE, 'r'],
        objects: [identityObject(ROLE, 'r', { roleARN: 7 })],
        problem:
          'IdentityInvalid: AWSClusterRoleIdentity "r" cannot be understood: spec.roleARN: expected string, got 7',
      },
      {
        what: 'where it is its own source',
        reference: [ROLE, 'r'],
        objects: [role('r', [ROLE, 'r'])],
        problem:
          'IdentityLoop: the source identities lead in a circle: AWSClusterRoleIdentity "r", then AWSClusterRoleIdentity "r"',
      },
      {
        what: 'in a circle that it is not part of, which is told without it',
        reference: [ROLE, 'into'],
        objects: [role('into', [ROLE, 'a']), role('a', [ROLE, 'b']), role('b', [ROLE, 'a'])],
        problem:
          'IdentityLoop: the source identities lead in a circle: AWSClusterRoleIdentity "a", then AWSClusterRoleIdentity "b", then AWSClusterRoleIdentity "a"',
      },
      {
        what: 'for a namespace where it names none',
        reference: [STATIC, 'keys'],
        objects: [keys('keys', { allowedNamespaces: null })],
        problem: refused(`${STATIC} "keys"`, 'it has no spec.allowedNamespaces, which allows none'),
      },
      {
        what: 'for a namespace that it does not name',
        reference: [STATIC, 'keys'],
        objects: [keys('keys', { allowedNamespaces: { list: ['team-b'] } })],
        problem: refused(`${STATIC} "keys"`, notNamed),
      },
      {
        what: 'for a namespace that its selector does not select',
        reference: [STATIC, 'keys'],
        objects: [keys('keys', labelled), namespaceObject('team-a', { team: 'b' })],
        problem: refused(`${STATIC} "keys"`, notNamed),
      },
      {
        what: 'for a namespace that the last of the chain keeps out',
        reference: [ROLE, 'r'],
        objects: [role('r', [CONTROLLER, 'default']), manager({ allowedNamespaces: { list: [] } })],
        problem: refused(`${CONTROLLER} "default"`, notNamed),
      },
      {
        what: 'for a namespace that the first of the chain keeps out, whoever else lets it in',
        reference: [ROLE, 'r'],
        objects: [role('r', [STATIC, 'keys'], { allowedNamespaces: { list: ['x'] } }), keys('keys')],
        problem: refused(`${ROLE} "r"`, notNamed),
      },
      {
        what: 'for a controller identity without a spec',
        reference: [CONTROLLER, 'default'],
        objects: [{ ...manager(), spec: undefined }],
        problem: refused(`${CONTROLLER} "default"`, 'it has no spec.allowedNamespaces, which allows none'),
      },
      {
        what: 'while the labels of namespaces are not known',
        reference: [STATIC, 'keys'],
        objects: [keys('keys', labelled)],
        unknown: { Namespace: 'namespaces are not listed yet' },
        problem:
          'IdentityUnreadable: AWSClusterStaticIdentity "keys" selects namespaces by their labels, and those of "team-a" cannot be read: namespaces are not listed yet',
      },
      {
        what: 'with a selector that is none',
        reference: [STATIC, 'keys'],
        objects: [
          keys('keys', {
            allowedNamespaces: { selector: { matchExpressions: [{ key: 'a', operator: 'is' }] } },
          }),
          namespaceObject('team-a'),
        ],
        problem:
          'IdentityInvalid: AWSClusterStaticIdentity "keys" has a spec.allowedNamespaces.selector that is none: "is" is no operator of a label selector',
      },
    ] as const)
      it(what, () => expect(chainOf(reference, worldOf(objects, unknown))).to.equal(problem));
  });

  it('is allowed to a namespace by its labels', () => {
    const selective = keys('keys', { allowedNamespaces: { selector: { matchLabels: { team: 'a' } } } });
    const world = worldOf([selective, namespaceObject('team-a', { team: 'a' })]);
    expect(chainOf([STATIC, 'keys'], world)).to.equal('keys');
  });

  it('asks for no labels where it needs none', () => {
    const world = worldOf([keys('keys', { allowedNamespaces: { list: ['team-a'] } })], { Namespace: 'forbidden' });
    expect(chainOf([STATIC, 'keys'], world)).to.equal('keys');
  });
});
