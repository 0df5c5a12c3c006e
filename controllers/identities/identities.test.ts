import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { ARN, Bench, KINDS, NAMESPACE, ROLE, SECOND, STATIC } from './testing/bench.ts';

describe('identities', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(() => bench.end());

  describe('tell who is affected', () => {
    beforeEach(async () => {
      bench.create(STATIC, 'keys', { secretRef: 'keys' });
      bench.create(STATIC, 'others', { secretRef: 'others' });
      bench.create(ROLE, 'a', { roleARN: ARN, sourceIdentityRef: { kind: STATIC, name: 'keys' } });
      bench.createSecret('keys');
      await bench.run();
    });
    const both = (...names: readonly string[]) =>
      names.flatMap((name) => [`${name} from team-a`, `${name} from team-b`]);

    it('by nothing that was there at the start', () => {
      expect(bench.told).to.deep.equal([]);
    });

    it('by a changed identity: all that lead to it', async () => {
      bench.patch(STATIC, 'keys', { spec: { allowedNamespaces: { list: ['team-a'] } } });
      await bench.clock.advance(SECOND);
      expect(bench.told).to.deep.equal([both(`${STATIC}/keys`, `${ROLE}/a`)]);
    });

    it('by one that comes and by one that goes', async () => {
      bench.create(ROLE, 'b', { roleARN: ARN });
      await bench.clock.advance(SECOND);
      bench.delete(ROLE, 'b');
      await bench.clock.advance(SECOND);
      expect(bench.told).to.deep.equal([both(`${ROLE}/b`), both(`${ROLE}/b`)]);
    });

    it('by a Secret that an object needs', async () => {
      await bench.source(ROLE, 'a');
      bench.api.storage.delete(bench.api.kind('secrets'), { namespace: NAMESPACE, name: 'keys' });
      await bench.clock.advance(20 * SECOND);
      expect(bench.told).to.deep.equal([both(`${STATIC}/keys`, `${ROLE}/a`)]);
    });

    it('by the labels of a namespace: all that is used from there', async () => {
      bench.patchNamespace('team-b', { labels: { team: 'b' } });
      await bench.clock.advance(SECOND);
      expect(bench.told).to.have.length(1);
      expect(bench.told[0]).to.have.length(15);
      expect(bench.told[0]?.every((name) => name.endsWith('from team-b'))).to.equal(true);
    });

    it('by no annotation or label of an identity, and by no annotation of a namespace', async () => {
      bench.patch(STATIC, 'keys', { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } });
      bench.patchNamespace('team-a', { annotations: { e: 'f' } });
      await bench.clock.advance(SECOND);
      expect(bench.told).to.deep.equal([]);
    });
  });

  describe('whose kinds are not served', () => {
    it('hold nobody up at the start, and are told of when they come', async () => {
      bench = new Bench([]);
      await bench.run();
      expect(await bench.problem(STATIC, 'keys')).to.deep.equal({
        reason: 'IdentityUnreadable',
        message:
          'spec.identityRef of the control plane names AWSClusterStaticIdentity "keys", which cannot be read: the API server does not serve ' +
          'awsclusterstaticidentities.infrastructure.cluster.x-k8s.io',
      });
      bench.api.serve(KINDS[STATIC]);
      bench.create(STATIC, 'keys', { secretRef: 'keys' });
      bench.createSecret('keys');
      await bench.clock.advance(40 * SECOND);
      expect(bench.told).to.have.length(1);
      expect(bench.told[0]).to.include(`${STATIC}/keys from team-a`);
      expect((await bench.source(STATIC, 'keys')).key).to.match(/^Secret /);
    });

    it('cannot be read again once they are taken away', async () => {
      bench.create(STATIC, 'keys', { secretRef: 'keys' });
      bench.createSecret('keys');
      await bench.run();
      await bench.source(STATIC, 'keys');
      bench.api.unserve('awsclusterstaticidentities');
      await bench.clock.advance(40 * SECOND);
      expect(await bench.problem(STATIC, 'keys')).to.include({ reason: 'IdentityUnreadable' });
    });
  });

  it('that may not be listed hold nobody up at the start', async () => {
    bench.api.intercept = ({ path }) => (path.includes('identities') ? new Error('forbidden') : undefined);
    await bench.run();
    expect(E.isRight(await bench.identities.sources.find(undefined, 'team-a', bench.stop.signal)())).to.equal(true);
    expect(await bench.problem(ROLE, 'a')).to.include({ reason: 'IdentityUnreadable' });
    bench.api.intercept = () => undefined;
    await bench.clock.advance(40 * SECOND);
    expect(await bench.problem(ROLE, 'a')).to.include({ reason: 'IdentityNotFound' });
    expect(bench.told).to.have.length(3);
  });
});
