import * as E from 'fp-ts/lib/Either.js';
import { expect } from 'chai';
import { createKubeClient, type KubeObject } from 'controller-runtime/client';
import { FakeApiServer, type FakeKind, MemoryLogger, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import type { AwsCredentialSource, CredentialsProblem } from '../../../pkg/cloud/index.ts';
import { CallerAccounts, CredentialPool } from '../../../pkg/cloud/index.ts';
import { configWith } from '../../../pkg/cloud/testing/config.ts';
import { FakeTransport, queryError } from '../../../pkg/cloud/testing/fake-transport.ts';
import { type IdentityUsePredicate, type Identities, newIdentities } from '../identities.ts';

export const SECOND = 1_000;
export const NAMESPACE = 'capaf-system';
const RESYNC = 10 * 60_000;
export const [CONTROLLER, STATIC, ROLE] = [
  'AWSClusterControllerIdentity',
  'AWSClusterStaticIdentity',
  'AWSClusterRoleIdentity',
] as const;
export const ARN = 'arn:aws:iam::123456789012:role/any';

const kindOf = (kind: string, plural: string): FakeKind => ({
  group: 'infrastructure.cluster.x-k8s.io',
  kind,
  plural,
  versions: ['v1beta2'],
  namespaced: false,
});
export const KINDS = {
  [CONTROLLER]: kindOf(CONTROLLER, 'awsclustercontrolleridentities'),
  [STATIC]: kindOf(STATIC, 'awsclusterstaticidentities'),
  [ROLE]: kindOf(ROLE, 'awsclusterroleidentities'),
};

/** The Identities under test, with a fake API server that has two Namespaces, and a fake STS that denies AssumeRole. */
export class IdentitiesFixture {
  readonly clock = new VirtualClock();
  readonly api: FakeApiServer;
  readonly aws = new FakeTransport(() => queryError('AccessDenied', 'no', 403));
  readonly stop = new AbortController();
  readonly pool: CredentialPool;
  readonly identities: Identities;
  readonly own: AwsCredentialSource = {
    key: 'manager',
    fetch: async () => ({ accessKeyId: 'AKIA-OWN', secretAccessKey: 'own' }),
  };
  /** The uses that each reported change affects, as `kind/name from namespace`. */
  readonly changes: string[][] = [];
  /** For each reported change, the only namespace that it affects; undefined if it affects all namespaces. */
  readonly changedNamespaces: (string | undefined)[] = [];
  private running: readonly Promise<void>[] = [];

  constructor(kinds: readonly FakeKind[] = Object.values(KINDS)) {
    const { clock } = this;
    const random = new SeededRandom(1);
    const logger = new MemoryLogger();
    this.pool = new CredentialPool(clock, this.stop.signal, RESYNC);
    this.api = new FakeApiServer({ clock, random, kinds });
    for (const name of ['team-a', 'team-b'])
      this.api.storage.create(this.api.kind('namespaces'), '', { metadata: { name } });
    const shared = configWith({ clock, logger, transport: this.aws, pool: this.pool, region: undefined });
    this.identities = newIdentities({
      client: createKubeClient({ transport: this.api, clock }),
      clock,
      random,
      logger,
      namespace: NAMESPACE,
      resync: RESYNC,
      own: this.own,
      assuming: { ...shared, accounts: new CallerAccounts({ ...shared, signal: this.stop.signal }) },
    });
    this.identities.onChange((isAffected, namespace) => {
      this.changes.push(affectedUses(isAffected));
      this.changedNamespaces.push(namespace);
    });
  }

  async run(): Promise<void> {
    const { identities, stop, clock } = this;
    this.running = identities.runnables.map((runnable) => runnable.run(stop.signal));
    const started = Promise.all(identities.runnables.map(async (runnable) => runnable.started?.(stop.signal)));
    await clock.advance(SECOND);
    await started;
  }

  /** Stops the Identities under test and checks that no timer is left. */
  async end(): Promise<void> {
    this.stop.abort();
    await Promise.all(this.running);
    expect(this.clock.pendingTimers(), 'timers left behind').to.deep.equal([]);
  }

  create(kind: keyof typeof KINDS, name: string, spec: object = {}): void {
    this.api.storage.create(KINDS[kind], '', { metadata: { name }, spec: { allowedNamespaces: {}, ...spec } });
  }

  patch(kind: keyof typeof KINDS, name: string, change: object): void {
    this.api.storage.mergePatch(KINDS[kind], { namespace: '', name }, change);
  }

  delete(kind: keyof typeof KINDS, name: string): void {
    this.api.storage.delete(KINDS[kind], { namespace: '', name });
  }

  createSecret(name: string): void {
    this.api.storage.create(this.api.kind('secrets'), NAMESPACE, {
      metadata: { name },
      data: { AccessKeyID: Buffer.from(`AKIA-${name}`).toString('base64'), SecretAccessKey: 'c2VjcmV0' },
    });
  }

  patchNamespace(name: string, metadata: object): void {
    this.api.storage.mergePatch(this.api.kind('namespaces'), { namespace: '', name }, { metadata });
  }

  async findSource(kind: string, name: string): Promise<AwsCredentialSource> {
    const found = await this.find(kind, name);
    if (E.isLeft(found)) throw new Error(`${found.left.reason}: ${found.left.message}`);
    return found.right;
  }

  async findProblem(kind: string, name: string): Promise<CredentialsProblem> {
    const found = await this.find(kind, name);
    if (E.isRight(found)) throw new Error(`found ${found.right.key}`);
    return found.left;
  }

  private find(kind: string, name: string): Promise<E.Either<CredentialsProblem, AwsCredentialSource>> {
    return this.identities.sources.find({ kind, name }, 'team-a', new AbortController().signal);
  }
}

/** Returns the uses, as `kind/name from namespace`, whose credentials a change affects. */
const affectedUses = (isAffected: IdentityUsePredicate): string[] =>
  [STATIC, ROLE, CONTROLLER].flatMap((kind) =>
    ['keys', 'others', 'a', 'b', 'default'].flatMap((name) =>
      ['team-a', 'team-b']
        .filter((namespace) => isAffected({ kind, name }, namespace))
        .map((from) => `${kind}/${name} from ${from}`),
    ),
  );

/** Returns an identity that every namespace may use, unless `spec` sets different `allowedNamespaces`. */
export const identityObject = (kind: string, name: string, spec: object = {}): KubeObject => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
  kind,
  metadata: { name, uid: `uid-of-${name}`, resourceVersion: '1', generation: 1 },
  spec: { allowedNamespaces: {}, ...spec },
});

export const namespaceObject = (name: string, labels: Readonly<Record<string, string>> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, uid: `uid-of-${name}`, resourceVersion: '1', labels },
});
