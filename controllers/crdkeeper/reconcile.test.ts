import { expect } from 'chai';
import { KeeperFixture, status } from './testing/fixture.ts';

const HOUR = 3_600_000;
const OTHERS = ['mutating.awscluster', 'mutating.awsmachine', 'validating.awscluster', 'validating.awsmachine'];
const RESTORED = { isOurs: true, webhooks: OTHERS };

describe('the CRD keeper', () => {
  let keeper: KeeperFixture;
  beforeEach(() => {
    keeper = new KeeperFixture();
    keeper.api.put();
    keeper.applyCapa();
  });
  const writes = (): readonly string[] =>
    keeper.api.server.requests
      .filter(({ method, path }) => method !== 'GET' && !path.includes('dryRun'))
      .map(({ method, path }) => `${method} ${path.replace(/\?.*/, '').split('/').slice(-2).join('/')}`);
  const eventReasons = (): readonly string[] => keeper.events.map((event) => event.split(/[ :]/)[1] ?? '');

  it('applies the CRD, and then removes the two webhooks and no other, with a record before and after', async () => {
    await keeper.settle();
    expect(keeper.served).to.deep.equal(RESTORED);
    expect(writes()).to.deep.equal([
      'PATCH configmaps/capaf-crd-keeper',
      'PATCH customresourcedefinitions/awsfargateprofiles.infrastructure.cluster.x-k8s.io',
      'PATCH configmaps/capaf-crd-keeper',
      'PATCH configmaps/capaf-crd-keeper',
      'PATCH mutatingwebhookconfigurations/capa-mutating-webhook-configuration',
      'PATCH validatingwebhookconfigurations/capa-validating-webhook-configuration',
      'PATCH configmaps/capaf-crd-keeper',
      // The CRD keeper records in the ConfigMap which objects lost fields.
      'PATCH configmaps/capaf-crd-keeper',
    ]);
    expect(keeper.state).to.equal(undefined);
    expect(eventReasons()).to.deep.equal(['CRDRestored', 'CAPAWebhookRemoved', 'CAPAWebhookRemoved']);
    const before = writes().length;
    await keeper.settle();
    expect(writes(), 'at rest').to.have.length(before);
  });

  it('leaves everything as it is while Cluster API Provider AWS answers, and takes over when it does not serve the kind any more', async () => {
    keeper.webhook = 'served';
    await keeper.settle();
    expect(keeper.state?.kind).to.equal('capaServes');
    expect(eventReasons()).to.deep.equal(['CAPAServesProfiles']);
    keeper.webhook = 'down';
    await keeper.settle();
    expect(keeper.state?.kind, 'while the manager of CAPA restarts').to.equal('capaServes');
    await keeper.api.clock.advance(24 * HOUR);
    await keeper.settle();
    expect(writes()).to.deep.equal([]);
    keeper.webhook = 'notServed';
    await keeper.settle();
    expect(keeper.served).to.deep.equal(RESTORED);
  });

  it('waits a minute if Cluster API Provider AWS has no webhook to ask', async () => {
    keeper.removeWebhooks();
    expect(await keeper.pass()).to.deep.include({ kind: 'after', delay: 60_000 });
    await keeper.api.clock.advance(59_000);
    await keeper.pass();
    expect(writes()).to.deep.equal([]);
    await keeper.api.clock.advance(1_000);
    await keeper.settle();
    expect(keeper.served.isOurs).to.equal(true);
  });

  it('asks with the creation of an object if there is none to patch', async () => {
    keeper = new KeeperFixture();
    keeper.applyCapa();
    await keeper.settle();
    const asked = keeper.api.server.requests.find(({ path }) => path.includes('dryRun'));
    expect(asked?.method).to.equal('POST');
    expect(asked?.path).to.contain('/namespaces/capaf-system/awsfargateprofiles?');
    expect(keeper.served).to.deep.equal(RESTORED);
  });

  describe('after repeated reverts by another client', () => {
    const revertThrice = async (): Promise<void> => {
      await keeper.settle();
      for (const _time of [1, 2, 3]) {
        await keeper.api.clock.advance(7 * HOUR);
        keeper.applyCapa();
        keeper.restart();
        await keeper.settle();
      }
    };

    it('stops after the third revert, even if the manager restarts, and reports which client wrote', async () => {
      await revertThrice();
      expect(keeper.served.isOurs).to.equal(false);
      expect(keeper.state).to.deep.equal({
        kind: 'stopped',
        problem:
          '"flux" has replaced CRD awsfargateprofiles.infrastructure.cluster.x-k8s.io and added webhook default.awsfargateprofile.infrastructure.cluster.x-k8s.io to capa-mutating-webhook-configuration and added webhook validation.awsfargateprofile.infrastructure.cluster.x-k8s.io to capa-validating-webhook-configuration 3 times within 24 hours. The manager undid this each time, but has stopped doing so',
        remedy:
          'Exclude them from what "flux" applies, as docs/migration-from-capa.md shows for Flux and Argo CD. Then delete ConfigMap capaf-system/capaf-crd-keeper, so that the manager undoes such changes again',
      });
      expect(keeper.record).to.have.nested.property('stopped.writers').that.deep.equals(['flux']);
      expect(eventReasons().at(-1)).to.equal('CRDKeeperStopped');
    });

    it('stays stopped, and says so, while Cluster API Provider AWS gives no clear answer', async () => {
      await revertThrice();
      const { state } = keeper;
      keeper.webhook = 'down';
      for (const _pass of [1, 2]) await keeper.pass();
      expect(keeper.state).to.deep.equal(state);
    });

    it('notices within seconds that Cluster API Provider AWS serves the kind, although it has stopped', async () => {
      await revertThrice();
      keeper.webhook = 'served';
      expect(await keeper.pass()).to.include({ kind: 'after', delay: 2_000 });
      await keeper.settle();
      expect(keeper.state).to.include({ kind: 'capaServes' });
    });

    it('stays stopped until an operator deletes the record', async () => {
      await revertThrice();
      const before = writes().length;
      await keeper.api.clock.advance(100 * HOUR);
      await keeper.settle();
      keeper.restart();
      await keeper.settle();
      expect(writes()).to.have.length(before);
      keeper.deleteRecord();
      await keeper.settle();
      expect(keeper.served).to.deep.equal(RESTORED);
      expect(keeper.state).to.equal(undefined);
    });
  });

  describe('during failures', () => {
    const isCrd = ({ path }: { readonly path: string }): boolean => path.includes('resourcedefinitions');
    const isRecord = ({ path }: { readonly path: string }): boolean => path.includes('configmaps');
    const isWebhook = ({ path }: { readonly path: string }): boolean => path.includes('webhookconfigurations');
    const answer = (code: number, reason: string) => (of: typeof isCrd) => () => {
      keeper.refuse = (request) => (of(request) ? status(code, reason, 'no') : undefined);
    };
    const unavailable = answer(503, 'ServiceUnavailable');
    const recover = (): void => {
      keeper.refuse = () => undefined;
      keeper.loseAnswer = () => false;
    };
    /** Runs one reconcile, as the workqueue does: an error leads to another reconcile. */
    const pass = (): Promise<unknown> => keeper.pass().catch(() => undefined);
    const passes = async (count: number): Promise<void> => {
      for (let each = 0; each < count; each += 1) {
        await pass();
        await keeper.api.clock.advance(15_000);
      }
    };
    const revert = async (): Promise<void> => {
      await keeper.api.clock.advance(HOUR);
      keeper.applyCapa();
    };
    const loseAnswers = (of: typeof isCrd) => () => {
      keeper.loseAnswer = of;
    };
    /** Simulates a manager that writes the CRD, and crashes before it has recorded that. */
    const crash = async (): Promise<void> => {
      keeper.refuse = (request) =>
        isRecord(request) && keeper.served.isOurs ? status(503, 'ServiceUnavailable', 'no') : undefined;
      await pass();
      recover();
      keeper.restart();
    };

    const rows: readonly (readonly [what: string, round: () => Promise<unknown>, isCounted: boolean])[] = [
      ['an outage while the webhooks are removed', async () => (unavailable(isWebhook)(), passes(30)), false],
      ['an outage in which the record cannot be written', async () => (unavailable(isRecord)(), passes(3)), false],
      ['a conflict', async () => (answer(409, 'Conflict')(isCrd)(), passes(3)), false],
      ['a refusal', async () => (answer(403, 'Forbidden')(isCrd)(), passes(3)), false],
      ['a crash before the write', async () => (unavailable(isCrd)(), await pass(), keeper.restart()), false],
      ['a crash after a write that is reverted before the start', async () => (await crash(), await revert()), false],
      [
        'an outage, and then an operator deletes the CRD',
        async () => {
          unavailable(isCrd)();
          await pass();
          recover();
          keeper.deleteCrd();
          keeper.removeWebhooks();
          await keeper.settle();
          await revert();
        },
        false,
      ],
      [
        'a crash after a write that the next start finds',
        async () => (await crash(), await keeper.settle(), await revert()),
        true,
      ],
      [
        'a timeout of a write that took effect',
        async () => {
          loseAnswers((request) => isCrd(request) || isWebhook(request))();
          await passes(4);
          expect(keeper.served, 'after the timeouts').to.deep.equal(RESTORED);
          recover();
          await keeper.settle();
          await revert();
        },
        true,
      ],
      [
        'a client that reverts before the next look',
        async () => (await pass(), keeper.applyCapa(), await keeper.api.clock.advance(2_000)),
        true,
      ],
    ];
    const expectAfterThree = async (round: () => Promise<unknown>, isCounted: boolean): Promise<void> => {
      for (const _time of [1, 2, 3]) {
        await round();
        recover();
      }
      await keeper.settle();
      expect(keeper.state?.kind).to.equal(isCounted ? 'stopped' : undefined);
      if (isCounted) return;
      expect(keeper.served).to.deep.equal(RESTORED);
      expect(keeper.record).to.have.property('restorations').with.length(1);
    };
    it('does not count a failure of the API server as a revert', () =>
      expectAfterThree(async () => (unavailable(isCrd)(), passes(3)), false));
    for (const [what, round, isCounted] of rows)
      it(`${isCounted ? 'counts' : 'does not count'} ${what} as a revert`, () => expectAfterThree(round, isCounted));
  });

  describe('restores nothing', () => {
    const expectNothing = async (): Promise<void> => {
      await keeper.settle();
      expect(keeper.served.isOurs).to.equal(false);
    };

    it('without a valid lease', async () => {
      keeper.remaining = () => 0;
      await keeper.pass();
      expect(keeper.api.server.requests).to.deep.equal([]);
    });

    it('while the record cannot be written', async () => {
      keeper.refuse = ({ path }) => (path.includes('configmaps') ? status(403, 'Forbidden', 'no') : undefined);
      await expectNothing();
      expect(keeper.logger.linesWith('The API server rejects a request of the CRD keeper')).to.have.length(1);
    });

    for (const text of ['{', '{}'])
      it(`while an operator has changed the record to ${JSON.stringify(text)}`, async () => {
        await keeper.settle();
        keeper.api.server.storage.mergePatch(
          { group: '', versions: ['v1'], kind: 'ConfigMap', plural: 'configmaps', status: false },
          { namespace: 'capaf-system', name: 'capaf-crd-keeper' },
          { data: { 'record.json': text } },
        );
        keeper.applyCapa();
        await expectNothing();
      });
  });

  it('does not remove a webhook whose position another client has changed meanwhile', async () => {
    let refusals = 0;
    keeper.refuse = ({ headers }) =>
      headers['content-type'] === 'application/json-patch+json' && refusals++ === 0
        ? status(422, 'Invalid', 'testing value failed')
        : undefined;
    expect(await keeper.settle()).to.deep.equal({ kind: 'conflict' });
    await keeper.settle();
    expect(keeper.served).to.deep.equal(RESTORED);
  });

  it('lists the objects that lost fields under the foreign CRD, once, also after a restart', async () => {
    const kept = keeper.api.put({
      metadata: { name: 'kept', annotations: { 'aws-fargate.cluster.x-k8s.io/retain': '' } },
    });
    keeper.restart();
    await keeper.settle();
    const lost = keeper.events.filter((event) => event.includes('FieldsLost'));
    expect(lost).to.have.length(1);
    expect(lost[0]).to.match(/^kept FieldsLost: This AWSFargateProfile has lost spec.deletionPolicy, because/);
    expect(keeper.record)
      .to.have.nested.property('restorations[0].lost')
      .that.deep.equals([`${kept.metadata.namespace}/kept: spec.deletionPolicy`]);
    keeper.restart();
    await keeper.settle();
    expect(keeper.events.filter((event) => event.includes('FieldsLost'))).to.have.length(1);
  });
});
