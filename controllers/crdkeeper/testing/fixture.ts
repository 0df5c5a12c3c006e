import { Store } from 'controller-runtime/cache';
import type { KubeObject, ObjectKey, TransportRequest, TransportResponse } from 'controller-runtime/client';
import type { Requeue } from 'controller-runtime/controller';
import { formatTimestamp } from 'controller-runtime/env';
import { isRecord, textAt } from 'controller-runtime/json';
import { type FakeKind, json, MemoryLogger } from 'controller-runtime/testing';
import { crd } from '../../../api/v1beta2/crd.ts';
import { PROFILE_KIND, newApi } from '../../awsfargateprofile/testing/api.ts';
import { type KeeperState, OUR_CRD } from '../../shared/crd/served-schema.ts';
import { type WebhookPhase, WEBHOOK_PHASES, configurationKey } from '../parts.ts';
import { RecordStore } from '../record.ts';
import { CrdKeeper } from '../reconcile.ts';

const ADMISSION = { group: 'admissionregistration.k8s.io', versions: ['v1'], namespaced: false, status: false };
const CRD: FakeKind = {
  group: 'apiextensions.k8s.io',
  versions: ['v1'],
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
const CONFIGURATIONS: Readonly<Record<WebhookPhase, FakeKind>> = {
  mutating: { ...ADMISSION, kind: 'MutatingWebhookConfiguration', plural: 'mutatingwebhookconfigurations' },
  validating: { ...ADMISSION, kind: 'ValidatingWebhookConfiguration', plural: 'validatingwebhookconfigurations' },
};
const CONFIG_MAP: FakeKind = { group: '', versions: ['v1'], kind: 'ConfigMap', plural: 'configmaps', status: false };
const NAMES = {
  mutating: 'default.awsfargateprofile.infrastructure.cluster.x-k8s.io',
  validating: 'validation.awsfargateprofile.infrastructure.cluster.x-k8s.io',
};
const RECORD = { namespace: 'capaf-system', name: 'capaf-crd-keeper' };

/** The CrdKeeper under test, with a fake API server. `webhook` is CAPA's answer to a dry run. */
export class KeeperFixture {
  readonly api = newApi();
  readonly logger = new MemoryLogger();
  /** The recorded Events, each as `object reason: message`. */
  readonly events: string[] = [];
  state: KeeperState | undefined;
  remaining = (): number => 15_000;
  webhook: 'served' | 'notServed' | 'down' = 'notServed';
  /** Returns the error response to a PATCH that is not a dry run; `undefined`: the fake API server carries it out. */
  refuse: (request: TransportRequest) => TransportResponse | undefined = () => undefined;
  /** Whether the fake API server must carry out a PATCH request, but answer 504. */
  loseAnswer: (request: TransportRequest) => boolean = () => false;
  private readonly profiles = new Store({ name: 'profiles', logger: this.logger });
  private keeper: CrdKeeper;

  constructor() {
    const { server } = this.api;
    for (const kind of [CRD, CONFIG_MAP, ...Object.values(CONFIGURATIONS)]) server.serve(kind);
    server.intercept = (request) => this.intercept(request);
    this.keeper = this.newKeeper();
  }

  /** Replaces the CrdKeeper with a new one, as a restart of the manager does. */
  restart(): void {
    this.keeper = this.newKeeper();
  }

  pass(): Promise<Requeue> {
    const objects = this.api.server.storage.list(PROFILE_KIND);
    this.profiles.replaceAll(objects, String(this.api.server.storage.newest));
    return this.keeper.reconcile(OUR_CRD, { logger: this.logger, signal: new AbortController().signal });
  }

  /** Runs reconciles, each after the delay of the one before, until none is due within 10 seconds. */
  async settle(): Promise<Requeue> {
    for (let count = 0; count < 20; count += 1) {
      const next = await this.pass();
      if (next.kind !== 'after' || next.delay >= 10_000) return next;
      await this.api.clock.advance(next.delay);
    }
    throw new Error('the keeper does not settle');
  }

  /** Applies the CRD and the webhooks of CAPA over the existing ones, as the field manager `flux`. */
  applyCapa(): void {
    const time = formatTimestamp(this.api.clock.now());
    const wrote = (fieldsV1: object) => ({ managedFields: [{ manager: 'flux', time, fieldsV1 }] });
    const versions = crd.spec.versions.map((version) => ({
      ...version,
      schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } },
    }));
    this.put(CRD, OUR_CRD, { ...crd, spec: { ...crd.spec, versions } }, wrote({ 'f:spec': { 'f:versions': {} } }));
    for (const phase of WEBHOOK_PHASES) {
      const name = NAMES[phase];
      const fields = { 'f:webhooks': { [`k:{"name":"${name}"}`]: { 'f:rules': {} } } };
      const webhooks = [
        { name: `${phase}.awscluster` },
        { name, failurePolicy: 'Fail' },
        { name: `${phase}.awsmachine` },
      ];
      this.put(CONFIGURATIONS[phase], configurationKey(phase), { webhooks }, wrote(fields));
    }
  }

  deleteCrd(): void {
    this.api.server.storage.delete(CRD, OUR_CRD);
  }

  removeWebhooks(): void {
    for (const phase of WEBHOOK_PHASES) this.put(CONFIGURATIONS[phase], configurationKey(phase), { webhooks: [] }, {});
  }

  deleteRecord(): void {
    this.api.server.storage.delete(CONFIG_MAP, RECORD);
  }

  get record(): unknown {
    const data: unknown = this.api.server.storage.get(CONFIG_MAP, RECORD)?.['data'];
    const record: unknown = isRecord(data) ? JSON.parse(String(data['record.json'])) : undefined;
    return record;
  }

  /** Returns whether the installed CRD belongs to this provider, and the names of the webhooks that are left. */
  get served(): { readonly isOurs: boolean; readonly webhooks: readonly string[] } {
    const { storage } = this.api.server;
    const spec = JSON.stringify(storage.get(CRD, OUR_CRD)?.['spec']);
    const webhooks = WEBHOOK_PHASES.flatMap((phase) =>
      webhooksOf(storage.get(CONFIGURATIONS[phase], configurationKey(phase))).flatMap(
        (webhook) => textAt(webhook, 'name') ?? [],
      ),
    );
    return { isOurs: spec === JSON.stringify(crd.spec), webhooks };
  }

  private newKeeper(): CrdKeeper {
    const { client, clock } = this.api;
    return new CrdKeeper({
      client,
      clock,
      profiles: this.profiles,
      records: new RecordStore(client, RECORD.namespace),
      schema: { setKeeper: (state) => (this.state = state) },
      leadership: { remaining: () => this.remaining() },
      recorder: {
        record: ({ metadata }, _type, reason, message) => this.events.push(`${metadata.name} ${reason}: ${message}`),
      },
    });
  }

  private put(kind: FakeKind, key: ObjectKey, body: object, metadata: object): void {
    const { storage } = this.api.server;
    const whole = { ...body, metadata: { ...metadata, name: key.name } };
    if (storage.get(kind, key) === undefined) storage.create(kind, '', whole);
    else storage.replace(kind, key, whole);
  }

  /** Answers dry runs, and the JSON Patches and server-side applies that the fake API server does not support. */
  private intercept(request: TransportRequest): TransportResponse | undefined {
    const { method, path } = request;
    if (path.includes('dryRun=All')) return this.answerDryRun();
    if (method !== 'PATCH') return undefined;
    const refusal = this.refuse(request);
    if (refusal !== undefined) return refusal;
    const answer = this.answerPatch(request);
    return this.loseAnswer(request) ? status(504, 'Timeout', 'request did not complete') : answer;
  }

  private answerPatch({ path, headers, body = '' }: TransportRequest): TransportResponse | undefined {
    const { storage } = this.api.server;
    switch (headers['content-type']) {
      case 'application/json-patch+json': {
        const phase = path.includes('mutating') ? 'mutating' : 'validating';
        const key = configurationKey(phase);
        const webhooks = [...webhooksOf(storage.get(CONFIGURATIONS[phase], key))];
        // Each JSON Patch of the CrdKeeper in these tests has two operations: the first tests the name of a webhook,
        // the second removes this webhook.
        const [test, removal]: readonly unknown[] = parse(body);
        const index = Number(textAt(removal, 'path')?.split('/').at(-1));
        if (textAt(webhooks[index], 'name') !== textAt(test, 'value'))
          return status(422, 'Invalid', 'testing value failed');
        webhooks.splice(index, 1);
        return json(200, storage.mergePatch(CONFIGURATIONS[phase], key, { webhooks }));
      }
      case 'application/apply-patch+yaml': {
        const kind = path.includes('configmaps') ? CONFIG_MAP : CRD;
        const key = kind === CRD ? OUR_CRD : RECORD;
        const object: unknown = JSON.parse(body);
        if (!isRecord(object)) return status(400, 'BadRequest', 'no object');
        if (storage.get(kind, key) === undefined) return json(201, storage.create(kind, key.namespace, object));
        return json(200, storage.mergePatch(kind, key, object));
      }
      default:
        return undefined;
    }
  }

  private answerDryRun(): TransportResponse {
    const name = this.served.webhooks.find((each) => each.includes('awsfargateprofile'));
    if (name === undefined || this.webhook === 'served')
      return json(200, this.api.server.storage.list(PROFILE_KIND)[0]);
    const detail = this.webhook === 'down' ? 'connection refused' : 'the server could not find the requested resource';
    return status(500, 'InternalError', `failed calling webhook "${name}": failed to call webhook: ${detail}`);
  }
}

const webhooksOf = (configuration: KubeObject | undefined): readonly unknown[] => {
  const webhooks = configuration?.['webhooks'];
  return Array.isArray(webhooks) ? webhooks : [];
};

const parse = (text: string): readonly unknown[] => {
  const value: unknown = JSON.parse(text);
  return Array.isArray(value) ? value : [];
};

export const status = (code: number, reason: string, message: string): TransportResponse =>
  json(code, { kind: 'Status', status: 'Failure', code, reason, message });
