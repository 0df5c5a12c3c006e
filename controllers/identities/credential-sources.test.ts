import { expect } from 'chai';
import { json } from 'controller-runtime/testing';
import * as E from 'fp-ts/lib/Either.js';
import { ARN, IdentitiesFixture, CONTROLLER, NAMESPACE, ROLE, SECOND, STATIC } from './testing/fixture.ts';

describe('credential sources', () => {
  let fixture: IdentitiesFixture;
  beforeEach(() => {
    fixture = new IdentitiesFixture();
  });
  afterEach(() => fixture.end());

  describe('return the credentials', () => {
    it('of the manager, without an identity and for AWSClusterControllerIdentity', async () => {
      fixture.create(CONTROLLER, 'default');
      await fixture.run();
      expect(await fixture.findSource(CONTROLLER, 'default')).to.equal(fixture.own);
      expect(await fixture.identities.sources.find(undefined, 'anywhere', fixture.stop.signal)).to.deep.equal(
        E.right(fixture.own),
      );
    });

    it('of a role, with all fields of the identity in the AssumeRole request', async () => {
      fixture.create(ROLE, 'a', {
        roleARN: ARN,
        sessionName: 'name',
        durationSeconds: 900,
        externalID: 'external',
        inlinePolicy: '{}',
        policyARNs: ['arn:x'],
        sourceIdentityRef: { kind: STATIC, name: 'keys' },
      });
      fixture.create(STATIC, 'keys', { secretRef: 'keys' });
      fixture.createSecret('keys');
      await fixture.run();
      await fixture.pool.get(await fixture.findSource(ROLE, 'a')).catch(() => {});
      expect(fixture.aws.body(0)).to.include({
        Action: 'AssumeRole',
        RoleArn: ARN,
        RoleSessionName: 'name',
        DurationSeconds: '900',
        ExternalId: 'external',
        Policy: '{}',
        'PolicyArns.member.1.arn': 'arn:x',
      });
      expect(fixture.aws.requests[0]?.headers['authorization']).to.contain('Credential=AKIA-keys/');
    });

    for (const [name, sessionName] of [
      ['a', 'capaf-a'],
      ['x'.repeat(70), `capaf-${'x'.repeat(58)}`],
    ] as const)
      it(`of a role for an hour, with a session named after an identity of ${name.length} characters`, async () => {
        fixture.create(ROLE, name, { roleARN: ARN });
        await fixture.run();
        await fixture.pool.get(await fixture.findSource(ROLE, name)).catch(() => {});
        expect(fixture.aws.body(0)).to.include({ RoleSessionName: sessionName, DurationSeconds: '3600' });
      });
  });

  describe('have keys', () => {
    beforeEach(async () => {
      fixture.create(STATIC, 'keys', { secretRef: 'keys' });
      fixture.create(ROLE, 'a', { roleARN: ARN, sourceIdentityRef: { kind: STATIC, name: 'keys' } });
      fixture.create(ROLE, 'b', { roleARN: ARN, sourceIdentityRef: { kind: ROLE, name: 'a' } });
      fixture.createSecret('keys');
      await fixture.run();
    });
    const keys = async () => {
      const { key: ofSecret } = await fixture.findSource(STATIC, 'keys');
      return [ofSecret, (await fixture.findSource(ROLE, 'a')).key, (await fixture.findSource(ROLE, 'b')).key];
    };

    it('that differ per identity and stay the same without a change', async () => {
      const before = await keys();
      expect(new Set(before)).to.have.property('size', 3);
      expect(await keys()).to.deep.equal(before);
    });

    const secret = { namespace: NAMESPACE, name: 'keys' };
    const data = { SecretAccessKey: 'b3RoZXI=' };
    const rows: readonly (readonly [what: string, change: () => unknown, same: readonly boolean[]])[] = [
      [
        'a change of the Secret',
        () => fixture.api.storage.mergePatch(fixture.api.kind('secrets'), secret, { data }),
        [false, false, false],
      ],
      [
        'a change of the first role',
        () => fixture.patch(ROLE, 'a', { spec: { sessionName: 'other' } }),
        [true, false, false],
      ],
      [
        'a change of the second role',
        () => fixture.patch(ROLE, 'b', { spec: { externalID: 'other' } }),
        [true, true, false],
      ],
      ['a change of a label', () => fixture.patch(ROLE, 'a', { metadata: { labels: { x: 'y' } } }), [true, true, true]],
      [
        'the first role is deleted and created again',
        () => {
          fixture.delete(ROLE, 'a');
          fixture.create(ROLE, 'a', { roleARN: ARN, sourceIdentityRef: { kind: STATIC, name: 'keys' } });
        },
        [true, false, false],
      ],
    ];
    for (const [what, change, same] of rows)
      it(`that are ${JSON.stringify(same)} the same after ${what}`, async () => {
        const before = await keys();
        change();
        await fixture.clock.advance(20 * SECOND);
        const after = await keys();
        expect(after.map((key, index) => key === before[index])).to.deep.equal(same);
      });
  });

  describe('report a Secret', () => {
    beforeEach(async () => {
      fixture.create(STATIC, 'keys', { secretRef: 'the-secret' });
      await fixture.run();
    });

    it('that does not exist', async () => {
      expect(await fixture.findProblem(STATIC, 'keys')).to.deep.equal({
        reason: 'SecretNotFound',
        message: 'Secret capaf-system/the-secret of AWSClusterStaticIdentity "keys" does not exist',
        missing: 'Secret capaf-system/the-secret',
      });
    });

    it('that has no access keys', async () => {
      fixture.api.storage.create(fixture.api.kind('secrets'), NAMESPACE, { metadata: { name: 'the-secret' } });
      expect(await fixture.findProblem(STATIC, 'keys')).to.deep.equal({
        reason: 'SecretIncomplete',
        message:
          'Secret capaf-system/the-secret of AWSClusterStaticIdentity "keys" has no AccessKeyID and no SecretAccessKey',
      });
    });

    it('that cannot be read', async () => {
      fixture.api.intercept = ({ path }) => (path.includes('/secrets/') ? new Error('connection refused') : undefined);
      expect(await fixture.findProblem(STATIC, 'keys')).to.deep.equal({
        reason: 'IdentityUnreadable',
        message:
          'Secret capaf-system/the-secret of AWSClusterStaticIdentity "keys" cannot be read: ' +
          'getting secrets capaf-system/the-secret: no answer: connection refused',
      });
    });

    it('that the manager may not read', async () => {
      fixture.api.intercept = ({ path }) =>
        path.includes('/secrets/')
          ? json(403, { kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' })
          : undefined;
      expect(await fixture.findProblem(STATIC, 'keys')).to.include({ reason: 'IdentityUnreadable' });
      expect(await fixture.findProblem(STATIC, 'keys')).to.deep.include({ obstacle: { kind: 'forbidden' } });
    });

    it('as interrupted after the signal of the reconcile has aborted', async () => {
      const reading = fixture.identities.sources.find(
        { kind: STATIC, name: 'keys' },
        'team-a',
        AbortSignal.abort(new Error('stop')),
      );
      expect(await reading).to.have.nested.property('left.reason', 'Interrupted');
    });
  });
});
