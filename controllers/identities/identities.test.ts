import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { json } from '../../pkg/kube/testing/fake-api-server.ts';
import {
  ARN,
  CONTROLLER,
  IdentitiesFixture,
  KINDS,
  NAMESPACE,
  ROLE,
  SECOND,
  STATIC,
  identityObject,
} from './testing/fixture.ts';
import { type Identity, decodeIdentity } from '../../api/external/identity.ts';
import { findDependentIdentities } from './identities.ts';

describe('identities', () => {
  let fixture: IdentitiesFixture;
  beforeEach(() => {
    fixture = new IdentitiesFixture();
  });
  afterEach(() => fixture.end());

  describe('report a change', () => {
    beforeEach(async () => {
      fixture.create(STATIC, 'keys', { secretRef: 'keys' });
      fixture.create(STATIC, 'others', { secretRef: 'others' });
      fixture.create(ROLE, 'a', { roleARN: ARN, sourceIdentityRef: { kind: STATIC, name: 'keys' } });
      fixture.createSecret('keys');
      await fixture.run();
    });
    const both = (...names: readonly string[]) =>
      names.flatMap((name) => [`${name} from team-a`, `${name} from team-b`]);

    it('not for the initial list', () => {
      expect(fixture.changes).to.deep.equal([]);
    });

    it('of an identity, which affects all identities that use it as source', async () => {
      fixture.patch(STATIC, 'keys', { spec: { allowedNamespaces: { list: ['team-a'] } } });
      await fixture.clock.advance(SECOND);
      expect(fixture.changes).to.deep.equal([both(`${STATIC}/keys`, `${ROLE}/a`)]);
    });

    it('when an identity is created and when it is deleted', async () => {
      fixture.create(ROLE, 'b', { roleARN: ARN });
      await fixture.clock.advance(SECOND);
      fixture.delete(ROLE, 'b');
      await fixture.clock.advance(SECOND);
      expect(fixture.changes).to.deep.equal([both(`${ROLE}/b`), both(`${ROLE}/b`)]);
    });

    it('of a Secret in use', async () => {
      await fixture.findSource(ROLE, 'a');
      fixture.api.storage.delete(fixture.api.kind('secrets'), { namespace: NAMESPACE, name: 'keys' });
      await fixture.clock.advance(20 * SECOND);
      expect(fixture.changes).to.deep.equal([both(`${STATIC}/keys`, `${ROLE}/a`)]);
    });

    it('of the labels of a namespace, which affects all identities used from there', async () => {
      fixture.patchNamespace('team-b', { labels: { team: 'b' } });
      await fixture.clock.advance(SECOND);
      expect(fixture.changes).to.have.length(1);
      expect(fixture.changes[0]).to.have.length(15);
      expect(fixture.changes[0]?.every((name) => name.endsWith('from team-b'))).to.equal(true);
      expect(fixture.changedNamespaces).to.deep.equal(['team-b']);
    });

    it('not for labels or annotations of an identity, nor for annotations of a namespace', async () => {
      fixture.patch(STATIC, 'keys', { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } });
      fixture.patchNamespace('team-a', { annotations: { e: 'f' } });
      await fixture.clock.advance(SECOND);
      expect(fixture.changes).to.deep.equal([]);
    });
  });

  describe('of kinds that are not served', () => {
    it('do not delay the start, and are reported once they are served', async () => {
      fixture = new IdentitiesFixture([]);
      await fixture.run();
      expect(await fixture.findProblem(STATIC, 'keys')).to.deep.equal({
        reason: 'IdentityUnreadable',
        message:
          'spec.identityRef of the control plane names AWSClusterStaticIdentity "keys", which the controller cannot read: the API server does not serve ' +
          'awsclusterstaticidentities.infrastructure.cluster.x-k8s.io',
      });
      fixture.api.serve(KINDS[STATIC]);
      fixture.create(STATIC, 'keys', { secretRef: 'keys' });
      fixture.createSecret('keys');
      await fixture.clock.advance(40 * SECOND);
      expect(fixture.changes).to.have.length(1);
      expect(fixture.changes[0]).to.include(`${STATIC}/keys from team-a`);
      expect((await fixture.findSource(STATIC, 'keys')).key).to.match(/^Secret /);
    });

    it('cannot be read after their CRD is removed', async () => {
      fixture.create(STATIC, 'keys', { secretRef: 'keys' });
      fixture.createSecret('keys');
      await fixture.run();
      await fixture.findSource(STATIC, 'keys');
      fixture.api.unserve('awsclusterstaticidentities');
      await fixture.clock.advance(40 * SECOND);
      expect(await fixture.findProblem(STATIC, 'keys')).to.include({ reason: 'IdentityUnreadable' });
    });
  });

  it('still decide about the credentials of the manager while the API server answers 404 without removing their CRD', async () => {
    fixture.create(CONTROLLER, 'default', { allowedNamespaces: { list: ['team-b'] } });
    await fixture.run();
    const findWithoutReference = () => fixture.identities.sources.find(undefined, 'team-a', fixture.stop.signal)();
    expect(await findWithoutReference()).to.have.nested.property('left.reason', 'IdentityNotAllowed');
    fixture.api.intercept = ({ path }) =>
      path.includes('/awsclustercontrolleridentities') ? json(404, { kind: 'Status', code: 404 }) : undefined;
    fixture.api.endWatches();
    for (let second = 0; second < 60; second++) {
      await fixture.clock.advance(SECOND);
      const found = await findWithoutReference();
      expect(E.isLeft(found) && found.left.reason, `after ${second} s`).to.be.oneOf([
        'IdentityNotAllowed',
        'IdentityUnreadable',
      ]);
    }
    fixture.api.intercept = () => undefined;
    fixture.api.unserve('awsclustercontrolleridentities');
    await fixture.clock.advance(60 * SECOND);
    expect(E.isRight(await findWithoutReference()), 'after the removal of the CRD').to.equal(true);
  });

  it('do not delay the start when they cannot be listed', async () => {
    fixture.api.intercept = ({ path }) => (path.includes('identities') ? new Error('forbidden') : undefined);
    await fixture.run();
    const findWithoutReference = () => fixture.identities.sources.find(undefined, 'team-a', fixture.stop.signal)();
    expect(await findWithoutReference()).to.have.nested.property('left.reason', 'IdentityUnreadable');
    expect(await fixture.findProblem(ROLE, 'a')).to.include({ reason: 'IdentityUnreadable' });
    fixture.api.intercept = () => undefined;
    await fixture.clock.advance(40 * SECOND);
    expect(E.isRight(await findWithoutReference())).to.equal(true);
    expect(await fixture.findProblem(ROLE, 'a')).to.include({ reason: 'IdentityNotFound' });
    expect(fixture.changes).to.have.length(3);
  });
});

const role = (name: string, sourceKind: string, source: string): Identity => {
  const decoded = decodeIdentity(
    identityObject('AWSClusterRoleIdentity', name, {
      roleARN: 'arn:aws:iam::123456789012:role/any',
      sourceIdentityRef: { kind: sourceKind, name: source },
    }),
  );
  if (!E.isRight(decoded)) throw new Error('the identity cannot be decoded');
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
