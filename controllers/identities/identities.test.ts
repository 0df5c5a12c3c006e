import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { json } from 'controller-runtime/testing';
import { ARN, CONTROLLER, IdentitiesFixture, KINDS, NAMESPACE, ROLE, SECOND, STATIC } from './testing/fixture.ts';

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

    it('of an identity, which affects all that use it through others, also in a loop', async () => {
      fixture.create(ROLE, 'default', { roleARN: ARN, sourceIdentityRef: { kind: ROLE, name: 'b' } });
      fixture.create(ROLE, 'b', { roleARN: ARN, sourceIdentityRef: { kind: ROLE, name: 'a' } });
      fixture.create(ROLE, 'keys', { roleARN: ARN, sourceIdentityRef: { kind: ROLE, name: 'keys' } });
      await fixture.clock.advance(SECOND);
      fixture.patch(STATIC, 'keys', { spec: { allowedNamespaces: { list: ['team-a'] } } });
      await fixture.clock.advance(SECOND);
      expect(fixture.changes.at(-1)).to.deep.equal(both(`${STATIC}/keys`, `${ROLE}/a`, `${ROLE}/b`, `${ROLE}/default`));
      fixture.patch(ROLE, 'a', { spec: { sourceIdentityRef: { kind: ROLE, name: 'b' } } });
      await fixture.clock.advance(SECOND);
      expect(fixture.changes.at(-1)).to.deep.equal(both(`${ROLE}/a`, `${ROLE}/b`, `${ROLE}/default`));
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
        obstacle: { kind: 'notServed', resource: 'awsclusterstaticidentities.infrastructure.cluster.x-k8s.io' },
      });
      fixture.api.serve(KINDS[STATIC]);
      fixture.create(STATIC, 'keys', { secretRef: 'keys' });
      fixture.createSecret('keys');
      await fixture.clock.advance(40 * SECOND);
      expect(fixture.changes).to.have.length(1);
      expect(fixture.changes[0]).to.include(`${STATIC}/keys from team-a`);
      expect((await fixture.findSource(STATIC, 'keys')).key).to.match(/^Secret /);
    });
  });

  it('still decide about the credentials of the manager while the API server answers 404 without removing their CRD', async () => {
    fixture.create(CONTROLLER, 'default', { allowedNamespaces: { list: ['team-b'] } });
    await fixture.run();
    const findWithoutReference = () => fixture.identities.sources.find(undefined, 'team-a', fixture.stop.signal);
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
    const findWithoutReference = () => fixture.identities.sources.find(undefined, 'team-a', fixture.stop.signal);
    expect(await findWithoutReference()).to.have.nested.property('left.reason', 'IdentityUnreadable');
    expect(await fixture.findProblem(ROLE, 'a')).to.include({ reason: 'IdentityUnreadable' });
    fixture.api.intercept = () => undefined;
    await fixture.clock.advance(40 * SECOND);
    expect(E.isRight(await findWithoutReference())).to.equal(true);
    expect(await fixture.findProblem(ROLE, 'a')).to.include({ reason: 'IdentityNotFound' });
    expect(fixture.changes).to.have.length(3);
  });
});
