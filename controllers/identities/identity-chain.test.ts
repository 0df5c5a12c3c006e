import { expect } from 'chai';
import { decodeIdentity } from '../../api/external/index.ts';
import * as E from 'fp-ts/lib/Either.js';
import type { Lookup } from 'controller-runtime/cache';
import type { KubeObject } from 'controller-runtime/client';
import type { IdentityRef } from '../../pkg/cloud/index.ts';
import { type IdentityCaches, resolveIdentity } from './identity-chain.ts';
import { ARN, CONTROLLER, ROLE, STATIC, identityObject, namespaceObject } from './testing/fixture.ts';

const keys = (name: string, spec: object = {}) => identityObject(STATIC, name, { secretRef: name, ...spec });
const role = (name: string, source?: readonly [kind: string, name: string], spec: object = {}) =>
  identityObject(ROLE, name, {
    roleARN: ARN,
    ...(source !== undefined && { sourceIdentityRef: { kind: source[0], name: source[1] } }),
    ...spec,
  });
const manager = (spec: object = {}) => identityObject(CONTROLLER, 'default', spec);

function cachesOf(objects: readonly KubeObject[], unknown: Readonly<Record<string, string>> = {}): IdentityCaches {
  const lookup = (kind: string, name: string): Lookup => {
    const reason = unknown[kind];
    if (reason !== undefined) return { kind: 'unknown', reason };
    const object = objects.find((each) => each.kind === kind && each.metadata.name === name);
    return object === undefined ? { kind: 'absent' } : { kind: 'found', object };
  };
  return {
    identitiesOf: (kind) => ({
      served: unknown[kind] !== 'not served',
      lookup: ({ name }) => {
        const found = lookup(kind, name);
        return found.kind === 'found' ? { ...found, decoded: decodeIdentity(found.object) } : found;
      },
    }),
    namespaces: { lookup: ({ name }) => lookup('Namespace', name) },
  };
}

describe('resolveIdentity', () => {
  function describeChain(reference: readonly [string, string] | undefined, caches: IdentityCaches) {
    const identity = reference && { kind: reference[0], name: reference[1] };
    const resolved = resolveIdentity(identity, 'team-a', caches);
    if (E.isLeft(resolved)) return `${resolved.left.reason}: ${resolved.left.message}`;
    const { staticIdentity, roleIdentities } = resolved.right;
    return [
      staticIdentity?.metadata.name ?? '(the manager)',
      ...roleIdentities.map(({ metadata }) => metadata.name),
    ].join(' → ');
  }

  for (const [reference, objects, chain] of [
    [undefined, [], '(the manager)'],
    [undefined, [manager({ allowedNamespaces: { list: ['team-a'] } })], '(the manager)'],
    [[CONTROLLER, 'default'], [manager()], '(the manager)'],
    [[STATIC, 'keys'], [keys('keys')], 'keys'],
    [[ROLE, 'r'], [role('r')], '(the manager) → r'],
    [[ROLE, 'r'], [role('r', [CONTROLLER, 'default']), manager()], '(the manager) → r'],
    [
      [ROLE, 'c'],
      [role('c', [ROLE, 'b']), role('b', [ROLE, 'a']), role('a', [STATIC, 'keys']), keys('keys')],
      'keys → a → b → c',
    ],
    [[ROLE, 'same'], [role('same', [STATIC, 'same']), keys('same')], 'same → same'],
  ] as const)
    it(`finds the chain ${chain} of ${reference?.join(' ') ?? 'no reference'} with ${objects.length} objects`, () =>
      expect(describeChain(reference, cachesOf(objects))).to.equal(chain));

  it('names the field of spec.eksCluster if the object names its EKS cluster there', () => {
    const problemFor = (reference: IdentityRef | undefined, unknown = {}): string | undefined => {
      const found = resolveIdentity(reference, 'team-a', cachesOf([], unknown), 'eksCluster');
      return E.isLeft(found) ? found.left.message : undefined;
    };
    expect(problemFor({ kind: STATIC, name: 'keys' })).to.equal(
      'spec.eksCluster.identityRef names AWSClusterStaticIdentity "keys", which does not exist',
    );
    expect(problemFor(undefined, { [CONTROLLER]: 'not listed yet' })).to.equal(
      'spec.eksCluster has no identityRef, so this object uses AWSClusterControllerIdentity "default", which the controller cannot read: not listed yet',
    );
  });

  describe('reports', () => {
    const KEYS = [STATIC, 'keys'] as const;
    const R = [ROLE, 'r'] as const;
    const named = 'spec.identityRef of the control plane names';
    const labelled = { allowedNamespaces: { selector: { matchLabels: { team: 'a' } } } };
    const invalid = { allowedNamespaces: { selector: { matchExpressions: [{ key: 'a', operator: 'is' }] } } };
    const only = (namespace: string) => ({ allowedNamespaces: { list: [namespace] } });
    const denied = (kind: string, name: string, because: string): string =>
      `IdentityNotAllowed: ${kind} "${name}" does not allow namespace "team-a": ${because}`;
    const notSelected = 'spec.allowedNamespaces of the identity does not list or select this namespace';
    const absent = 'an identity without spec.allowedNamespaces allows no namespace';
    const rows: readonly (readonly [
      what: string,
      reference: readonly [kind: string, name: string] | undefined,
      objects: readonly KubeObject[],
      problem: string,
      unknown?: Readonly<Record<string, string>>,
    ])[] = [
      ['no identity', KEYS, [], `IdentityNotFound: ${named} ${STATIC} "keys", which does not exist`],
      [
        'no source identity',
        R,
        [role('r', KEYS)],
        `IdentityNotFound: spec.sourceIdentityRef of ${ROLE} "r" names ${STATIC} "keys", which does not exist`,
      ],
      [
        'an identity whose kind is not served',
        KEYS,
        [],
        `IdentityUnreadable: ${named} ${STATIC} "keys", which the controller cannot read: not served`,
        { [STATIC]: 'not served' },
      ],
      ['an unknown kind', ['Pod', 'x'], [], `IdentityInvalid: ${named} Pod "x", which has an unknown kind`],
      [
        'an AWSClusterControllerIdentity that is not named default',
        [CONTROLLER, 'other'],
        [identityObject(CONTROLLER, 'other')],
        `IdentityInvalid: ${named} ${CONTROLLER} "other", but an identity of this kind must have the name "default"`,
      ],
      [
        'an identity that cannot be decoded',
        R,
        [identityObject(ROLE, 'r', { roleARN: 7 })],
        `IdentityInvalid: ${ROLE} "r" is not valid: spec.roleARN: expected string, got 7`,
      ],
      [
        'an identity that is its own source',
        R,
        [role('r', R)],
        `IdentityLoop: the source identities form a loop: ${ROLE} "r", then ${ROLE} "r"`,
      ],
      [
        'a loop of sources, without the identity that leads to the loop',
        [ROLE, 'into'],
        [role('into', [ROLE, 'a']), role('a', [ROLE, 'b']), role('b', [ROLE, 'a'])],
        `IdentityLoop: the source identities form a loop: ${ROLE} "a", then ${ROLE} "b", then ${ROLE} "a"`,
      ],
      ['allowedNamespaces null', KEYS, [keys('keys', { allowedNamespaces: null })], denied(...KEYS, absent)],
      ['a list of others', KEYS, [keys('keys', only('team-b'))], denied(...KEYS, notSelected)],
      [
        'a namespace that the selector does not select',
        KEYS,
        [keys('keys', labelled), namespaceObject('team-a', { team: 'b' })],
        denied(...KEYS, notSelected),
      ],
      [
        'a namespace that the last identity of the chain denies',
        R,
        [role('r', [CONTROLLER, 'default']), manager({ allowedNamespaces: { list: [] } })],
        denied(CONTROLLER, 'default', notSelected),
      ],
      [
        'a namespace that only the first identity of the chain denies',
        R,
        [role('r', KEYS, only('x')), keys('keys')],
        denied(...R, notSelected),
      ],
      [
        'AWSClusterControllerIdentities that are not listed, without a reference to one',
        undefined,
        [],
        `IdentityUnreadable: the control plane has no spec.identityRef and so uses ${CONTROLLER} "default", which the controller cannot read: not listed yet`,
        { [CONTROLLER]: 'not listed yet' },
      ],
      ['no spec', [CONTROLLER, 'default'], [{ ...manager(), spec: undefined }], denied(CONTROLLER, 'default', absent)],
      [
        'a selector while namespaces are not listed',
        KEYS,
        [keys('keys', labelled)],
        `IdentityUnreadable: ${STATIC} "keys" selects namespaces by label, but the controller cannot read the labels of namespace "team-a": not listed`,
        { Namespace: 'not listed' },
      ],
      [
        'a selector that is not valid',
        KEYS,
        [keys('keys', invalid), namespaceObject('team-a')],
        `IdentityInvalid: spec.allowedNamespaces.selector of ${STATIC} "keys" is not a valid label selector: "is" is not an operator of a label selector`,
      ],
    ];
    for (const [what, reference, objects, problem, unknown] of rows)
      it(what, () => expect(describeChain(reference, cachesOf(objects, unknown))).to.equal(problem));
  });

  it('lets AWSClusterControllerIdentity default decide about a namespace, even without a reference to it', () => {
    const caches = cachesOf([manager({ allowedNamespaces: { list: ['team-b'] } })]);
    expect(describeChain(undefined, caches)).to.match(
      /^IdentityNotAllowed: AWSClusterControllerIdentity "default" does not allow namespace "team-a"/,
    );
  });

  it('allows a namespace that the selector selects', () => {
    const selective = keys('keys', { allowedNamespaces: { selector: { matchLabels: { team: 'a' } } } });
    const caches = cachesOf([selective, namespaceObject('team-a', { team: 'a' })]);
    expect(describeChain([STATIC, 'keys'], caches)).to.equal('keys');
  });
});
