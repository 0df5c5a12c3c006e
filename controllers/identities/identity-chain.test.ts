import { expect } from 'chai';
import { decodeIdentity } from '../../api/external/index.ts';
import * as E from 'fp-ts/lib/Either.js';
import type { Lookup } from '../../pkg/kube/cache/store.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { IdentityRef } from '../../pkg/cloud/index.ts';
import { type IdentityReader, resolveIdentity } from './identity-chain.ts';
import { identityObject, namespaceObject } from './testing/fixture.ts';

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

function readerOf(objects: readonly KubeObject[], unknown: Readonly<Record<string, string>> = {}): IdentityReader {
  const lookup = (kind: string, name: string): Lookup => {
    const reason = unknown[kind];
    if (reason !== undefined) return { kind: 'unknown', reason };
    const object = objects.find((each) => each.kind === kind && each.metadata.name === name);
    return object === undefined ? { kind: 'absent' } : { kind: 'found', object };
  };
  return {
    isServed: (kind) => unknown[kind] !== 'not served',
    lookupIdentity: (kind, name) => {
      const found = lookup(kind, name);
      return found.kind === 'found' ? { ...found, decoded: decodeIdentity(found.object) } : found;
    },
    lookupNamespace: (name) => lookup('Namespace', name),
  };
}

describe('resolveIdentity', () => {
  function describeChain(reference: readonly [string, string] | undefined, reader: IdentityReader) {
    const identity = reference && { kind: reference[0], name: reference[1] };
    const resolved = resolveIdentity(identity, 'team-a', reader);
    if (E.isLeft(resolved)) return `${resolved.left.reason}: ${resolved.left.message}`;
    const { staticIdentity, roleIdentities } = resolved.right;
    return [
      staticIdentity?.metadata.name ?? '(the manager)',
      ...roleIdentities.map(({ metadata }) => metadata.name),
    ].join(' → ');
  }

  describe('finds the chain of', () => {
    for (const { what, reference, objects, chain } of [
      { what: 'a control plane without identity', reference: undefined, objects: [], chain: '(the manager)' },
      {
        what: 'a control plane without identity, for a namespace that AWSClusterControllerIdentity allows',
        reference: undefined,
        objects: [manager({ allowedNamespaces: { list: ['team-a'] } })],
        chain: '(the manager)',
      },
      {
        what: 'AWSClusterControllerIdentity',
        reference: [CONTROLLER, 'default'],
        objects: [manager()],
        chain: '(the manager)',
      },
      { what: 'AWSClusterStaticIdentity', reference: [STATIC, 'keys'], objects: [keys('keys')], chain: 'keys' },
      {
        what: 'a role identity without source',
        reference: [ROLE, 'r'],
        objects: [role('r')],
        chain: '(the manager) → r',
      },
      {
        what: 'a role identity with AWSClusterControllerIdentity as source',
        reference: [ROLE, 'r'],
        objects: [role('r', [CONTROLLER, 'default']), manager()],
        chain: '(the manager) → r',
      },
      {
        what: 'role identities with role identities as source',
        reference: [ROLE, 'c'],
        objects: [role('c', [ROLE, 'b']), role('b', [ROLE, 'a']), role('a', [STATIC, 'keys']), keys('keys')],
        chain: 'keys → a → b → c',
      },
      {
        what: 'a role identity with the same name as its source',
        reference: [ROLE, 'same'],
        objects: [role('same', [STATIC, 'same']), keys('same')],
        chain: 'same → same',
      },
    ] as const)
      it(what, () => expect(describeChain(reference, readerOf(objects))).to.equal(chain));
  });

  it('names the field of spec.eksCluster if the object names its EKS cluster there', () => {
    const problemFor = (reference: IdentityRef | undefined, unknown = {}): string | undefined => {
      const found = resolveIdentity(reference, 'team-a', readerOf([], unknown), 'eksCluster');
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
    const labelled = { allowedNamespaces: { selector: { matchLabels: { team: 'a' } } } };
    const denied = (name: string, reason: string): string =>
      `IdentityNotAllowed: ${name} does not allow namespace "team-a": ${reason}`;
    const notSelected = 'spec.allowedNamespaces of the identity does not list or select this namespace';
    for (const { what, reference, objects, unknown, problem } of [
      {
        what: 'an identity that does not exist',
        reference: [STATIC, 'keys'],
        objects: [],
        problem:
          'IdentityNotFound: spec.identityRef of the control plane names AWSClusterStaticIdentity "keys", which does not exist',
      },
      {
        what: 'a source identity that does not exist',
        reference: [ROLE, 'r'],
        objects: [role('r', [STATIC, 'keys'])],
        problem:
          'IdentityNotFound: spec.sourceIdentityRef of AWSClusterRoleIdentity "r" names AWSClusterStaticIdentity "keys", which does not exist',
      },
      {
        what: 'an identity whose kind is not served',
        reference: [STATIC, 'keys'],
        objects: [],
        unknown: { [STATIC]: 'not served' },
        problem:
          'IdentityUnreadable: spec.identityRef of the control plane names AWSClusterStaticIdentity "keys", which the controller cannot read: not served',
      },
      {
        what: 'an identity of an unknown kind',
        reference: ['AWSPodIdentity', 'x'],
        objects: [],
        problem:
          'IdentityInvalid: spec.identityRef of the control plane names AWSPodIdentity "x", which has an unknown kind',
      },
      {
        what: 'an AWSClusterControllerIdentity that is not named default',
        reference: [CONTROLLER, 'other'],
        objects: [identityObject(CONTROLLER, 'other')],
        problem:
          'IdentityInvalid: spec.identityRef of the control plane names AWSClusterControllerIdentity "other", but an identity of this kind must have the name "default"',
      },
      {
        what: 'an identity that cannot be decoded',
        reference: [ROLE, 'r'],
        objects: [identityObject(ROLE, 'r', { roleARN: 7 })],
        problem: 'IdentityInvalid: AWSClusterRoleIdentity "r" is not valid: spec.roleARN: expected string, got 7',
      },
      {
        what: 'an identity that is its own source',
        reference: [ROLE, 'r'],
        objects: [role('r', [ROLE, 'r'])],
        problem:
          'IdentityLoop: the source identities form a loop: AWSClusterRoleIdentity "r", then AWSClusterRoleIdentity "r"',
      },
      {
        what: 'a loop of sources, without the identity that leads to the loop',
        reference: [ROLE, 'into'],
        objects: [role('into', [ROLE, 'a']), role('a', [ROLE, 'b']), role('b', [ROLE, 'a'])],
        problem:
          'IdentityLoop: the source identities form a loop: AWSClusterRoleIdentity "a", then AWSClusterRoleIdentity "b", then AWSClusterRoleIdentity "a"',
      },
      {
        what: 'an identity without allowedNamespaces',
        reference: [STATIC, 'keys'],
        objects: [keys('keys', { allowedNamespaces: null })],
        problem: denied(`${STATIC} "keys"`, 'an identity without spec.allowedNamespaces allows no namespace'),
      },
      {
        what: 'a namespace that is not in the list',
        reference: [STATIC, 'keys'],
        objects: [keys('keys', { allowedNamespaces: { list: ['team-b'] } })],
        problem: denied(`${STATIC} "keys"`, notSelected),
      },
      {
        what: 'a namespace that the selector does not select',
        reference: [STATIC, 'keys'],
        objects: [keys('keys', labelled), namespaceObject('team-a', { team: 'b' })],
        problem: denied(`${STATIC} "keys"`, notSelected),
      },
      {
        what: 'a namespace that the last identity of the chain denies',
        reference: [ROLE, 'r'],
        objects: [role('r', [CONTROLLER, 'default']), manager({ allowedNamespaces: { list: [] } })],
        problem: denied(`${CONTROLLER} "default"`, notSelected),
      },
      {
        what: 'a namespace that only the first identity of the chain denies',
        reference: [ROLE, 'r'],
        objects: [role('r', [STATIC, 'keys'], { allowedNamespaces: { list: ['x'] } }), keys('keys')],
        problem: denied(`${ROLE} "r"`, notSelected),
      },
      {
        what: 'a namespace that AWSClusterControllerIdentity denies, without a reference to it',
        reference: undefined,
        objects: [manager({ allowedNamespaces: { list: ['team-b'] } })],
        problem: denied(`${CONTROLLER} "default"`, notSelected),
      },
      {
        what: 'AWSClusterControllerIdentities that are not listed, without a reference to one',
        reference: undefined,
        objects: [],
        unknown: { [CONTROLLER]: 'not listed yet' },
        problem:
          'IdentityUnreadable: the control plane has no spec.identityRef and so uses AWSClusterControllerIdentity "default", which the controller cannot read: not listed yet',
      },
      {
        what: 'an AWSClusterControllerIdentity without spec',
        reference: [CONTROLLER, 'default'],
        objects: [{ ...manager(), spec: undefined }],
        problem: denied(`${CONTROLLER} "default"`, 'an identity without spec.allowedNamespaces allows no namespace'),
      },
      {
        what: 'a selector while namespaces are not listed',
        reference: [STATIC, 'keys'],
        objects: [keys('keys', labelled)],
        unknown: { Namespace: 'namespaces are not listed yet' },
        problem:
          'IdentityUnreadable: AWSClusterStaticIdentity "keys" selects namespaces by label, but the controller cannot read the labels of namespace "team-a": namespaces are not listed yet',
      },
      {
        what: 'a selector that is not valid',
        reference: [STATIC, 'keys'],
        objects: [
          keys('keys', {
            allowedNamespaces: { selector: { matchExpressions: [{ key: 'a', operator: 'is' }] } },
          }),
          namespaceObject('team-a'),
        ],
        problem:
          'IdentityInvalid: spec.allowedNamespaces.selector of AWSClusterStaticIdentity "keys" is not a valid label selector: "is" is not an operator of a label selector',
      },
    ] as const)
      it(what, () => expect(describeChain(reference, readerOf(objects, unknown))).to.equal(problem));
  });

  it('lets every namespace use the credentials of the manager if AWSClusterControllerIdentity is not served', () => {
    expect(describeChain(undefined, readerOf([], { [CONTROLLER]: 'not served' }))).to.equal('(the manager)');
  });

  it('allows a namespace that the selector selects', () => {
    const selective = keys('keys', { allowedNamespaces: { selector: { matchLabels: { team: 'a' } } } });
    const reader = readerOf([selective, namespaceObject('team-a', { team: 'a' })]);
    expect(describeChain([STATIC, 'keys'], reader)).to.equal('keys');
  });

  it('does not read labels of a namespace that the list contains', () => {
    const reader = readerOf([keys('keys', { allowedNamespaces: { list: ['team-a'] } })], { Namespace: 'forbidden' });
    expect(describeChain([STATIC, 'keys'], reader)).to.equal('keys');
  });
});
