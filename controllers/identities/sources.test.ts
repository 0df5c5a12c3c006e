import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { ARN, Bench, CONTROLLER, NAMESPACE, ROLE, SECOND, STATIC } from './testing/bench.ts';

describe('the sources of identities’ credentials', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.end());

  describe('have credentials', () => {
    it('of the manager, where none is named and where its own is', async () => {
      bench.create(CONTROLLER, 'default');
      await bench.run();
      expect(await bench.source(CONTROLLER, 'default')).to.equal(bench.own);
      expect(await bench.identities.sources.find(undefined, 'anywhere', bench.stop.signal)()).to.deep.equal(
        E.right(bench.own),
      );
    });

    it('of a Secret of the manager’s namespace', async () => {
      bench.create(STATIC, 'keys', { secretRef: 'keys' });
      bench.createSecret('keys');
      await bench.run();
      expect(await bench.pool.get(await bench.source(STATIC, 'keys'))).to.deep.equal({
        accessKeyId: 'AKIA-keys',
        secretAccessKey: 'secret',
      });
    });

    it('of a role, asked for as the identity says', async () => {
      bench.create(ROLE, 'a', {
        roleARN: ARN,
        sessionName: 'name',
        durationSeconds: 900,
        externalID: 'external',
        inlinePolicy: '{}',
        policyARNs: ['arn:x'],
        sourceIdentityRef: { kind: STATIC, name: 'keys' },
      });
      bench.create(STATIC, 'keys', { secretRef: 'keys' });
      bench.createSecret('keys');
      await bench.run();
      await bench.pool.get(await bench.source(ROLE, 'a')).catch(() => {});
      expect(bench.aws.body(0)).to.include({
        Action: 'AssumeRole',
        RoleArn: ARN,
        RoleSessionName: 'name',
        DurationSeconds: '900',
        ExternalId: 'external',
        Policy: '{}',
        'PolicyArns.member.1.arn': 'arn:x',
      });
      expect(bench.aws.requests[0]?.headers['authorization']).to.contain('Credential=AKIA-keys/');
    });

    for (const [name, sessionName] of [
      ['a', 'capaf-a'],
      ['x'.repeat(70), `capaf-${'x'.repeat(58)}`],
    ] as const)
      it(`of a role for an hour, with the name of its identity, where that says no more (${name.length})`, async () => {
        bench.create(ROLE, name, { roleARN: ARN });
        await bench.run();
        await bench.pool.get(await bench.source(ROLE, name)).catch(() => {});
        expect(bench.aws.body(0)).to.include({ RoleSessionName: sessionName, DurationSeconds: '3600' });
      });
  });

  describe('are told apart by all that their credentials come from:', () => {
    beforeEach(async () => {
      bench.create(STATIC, 'keys', { secretRef: 'keys' });
      bench.create(ROLE, 'a', { roleARN: ARN, sourceIdentityRef: { kind: STATIC, name: 'keys' } });
      bench.create(ROLE, 'b', { roleARN: ARN, sourceIdentityRef: { kind: ROLE, name: 'a' } });
      bench.createSecret('keys');
      await bench.run();
    });
    const keys = async () =>
      (await Promise.all([bench.source(STATIC, 'keys'), bench.source(ROLE, 'a'), bench.source(ROLE, 'b')])).map(
        ({ key }) => key,
      );

    it('each is another than the others, and the same again', async () => {
      const before = await keys();
      expect(new Set(before)).to.have.property('size', 3);
      expect(await keys()).to.deep.equal(before);
    });

    for (const { what, change, same } of [
      {
        what: 'the Secret',
        change: () =>
          bench.api.storage.mergePatch(
            bench.api.kind('secrets'),
            { namespace: NAMESPACE, name: 'keys' },
            { data: { SecretAccessKey: 'b3RoZXI=' } },
          ),
        same: [false, false, false],
      },
      {
        what: 'the first role',
        change: () => bench.patch(ROLE, 'a', { spec: { sessionName: 'other' } }),
        same: [true, false, false],
      },
      {
        what: 'the second role',
        change: () => bench.patch(ROLE, 'b', { spec: { externalID: 'other' } }),
        same: [true, true, false],
      },
      {
        what: 'a label',
        change: () => bench.patch(ROLE, 'a', { metadata: { labels: { x: 'y' } } }),
        same: [true, true, true],
      },
    ])
      it(`a change of ${what}`, async () => {
        const before = await keys();
        change();
        await bench.clock.advance(20 * SECOND);
        const after = await keys();
        expect(after.map((key, index) => key === before[index])).to.deep.equal(same);
      });

    it('one that is deleted and made again', async () => {
      const before = await keys();
      bench.delete(ROLE, 'a');
      bench.create(ROLE, 'a', { roleARN: ARN, sourceIdentityRef: { kind: STATIC, name: 'keys' } });
      await bench.clock.advance(SECOND);
      const after = await keys();
      expect(after.map((key, index) => key === before[index])).to.deep.equal([true, false, false]);
    });
  });

  describe('say what is wrong with a Secret:', () => {
    beforeEach(async () => {
      bench.create(STATIC, 'keys', { secretRef: 'the-secret' });
      await bench.run();
    });

    it('that it does not exist', async () => {
      expect(await bench.problem(STATIC, 'keys')).to.deep.equal({
        reason: 'SecretNotFound',
        message: 'Secret capaf-system/the-secret of AWSClusterStaticIdentity "keys" does not exist',
      });
    });

    it('what it lacks', async () => {
      bench.api.storage.create(bench.api.kind('secrets'), NAMESPACE, { metadata: { name: 'the-secret' } });
      expect(await bench.problem(STATIC, 'keys')).to.deep.equal({
        reason: 'SecretIncomplete',
        message:
          'Secret capaf-system/the-secret of AWSClusterStaticIdentity "keys" has no AccessKeyID and no SecretAccessKey',
      });
    });

    it('that it cannot be read', async () => {
      bench.api.intercept = ({ path }) => (path.includes('/secrets/') ? new Error('connection refused') : undefined);
      expect(await bench.problem(STATIC, 'keys')).to.deep.equal({
        reason: 'IdentityUnreadable',
        message:
          'Secret capaf-system/the-secret of AWSClusterStaticIdentity "keys" cannot be read: ' +
          'getting secrets capaf-system/the-secret: no answer: connection refused',
      });
    });

    it('nothing, where the pass that asks has ended', async () => {
      const reading = bench.identities.sources.find(
        { kind: STATIC, name: 'keys' },
        'team-a',
        AbortSignal.abort(new Error('stop')),
      )();
      expect(await reading).to.have.nested.property('left.reason', 'Interrupted');
    });

    it('and it is read anew once AWS has refused what it holds', async () => {
      bench.createSecret('the-secret');
      await bench.clock.advance(5 * SECOND);
      const reads = () => bench.api.requests.filter(({ path }) => path.endsWith('/secrets/the-secret')).length;
      const found = await bench.source(STATIC, 'keys');
      await bench.pool.get(found);
      const before = reads();
      await bench.source(STATIC, 'keys');
      expect(reads()).to.equal(before);
      bench.pool.refused(found);
      await bench.source(STATIC, 'keys');
      expect(reads()).to.equal(before + 1);
    });
  });
});
