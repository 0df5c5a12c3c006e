import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { RawObject } from '../../envtest/clients/api.ts';
import type { CapaConfiguration } from '../../envtest/control-plane/capa-manifests.ts';
import { capaManifests } from '../../envtest/control-plane/capa-manifests.ts';
import type { World } from '../world.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
export const PROFILE_CRD_NAME = 'awsfargateprofiles.infrastructure.cluster.x-k8s.io';
export const PROFILE_CRD = `${CRDS}/${PROFILE_CRD_NAME}`;
const FARGATE_PATH = /-awsfargateprofile$/;

const pathOfConfiguration = ({ kind, metadata }: Pick<CapaConfiguration, 'kind' | 'metadata'>): string =>
  `${ADMISSION}/${kind.toLowerCase()}s/${metadata.name}`;

/**
 * The CRD and the webhook configurations of the real Cluster API Provider AWS, and a server that answers the webhooks
 * as its manager does: it accepts every object, and answers 404 for AWSFargateProfiles while the feature gate
 * EKSFargate is off.
 */
export interface CapaInstallation {
  /** Whether the feature gate EKSFargate is on; false at first. */
  hasGate: boolean;
  /** Applies the CRD and the webhooks, as the given field manager, whatever the API server has. */
  apply(fieldManager?: string): Promise<void>;
  applyWebhooks(fieldManager?: string): Promise<void>;
  /** Returns a webhook configuration of the release whose webhooks the server of this installation answers. */
  served(configuration: CapaConfiguration): object;
  /** The names of the webhooks that the API server has. */
  webhooks(): Promise<readonly string[]>;
  /** The names of the webhooks in the release. */
  readonly released: readonly string[];
  /** The CRD and the webhook configurations as the API server has them. */
  objects(): Promise<readonly RawObject[]>;
  /** Changes an annotation of a webhook configuration, so that a watch reports a change. */
  touch(): Promise<void>;
  /** Deletes the webhook configurations, as `clusterctl delete` does. */
  removeWebhooks(): Promise<void>;
}

/** Starts the webhook server. Does not apply the webhook configurations yet. */
export async function startCapaInstallation(world: World): Promise<CapaInstallation> {
  const { crd, configurations: released } = await capaManifests();
  const { api, caPath } = world.controlPlane;
  // The API server trusts the certificate that it has made for itself on 127.0.0.1.
  const [certificate, key] = await Promise.all(
    ['crt', 'key'].map((end) => readFile(join(dirname(caPath), `apiserver.${end}`))),
  );
  const server = createServer({ cert: certificate, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (FARGATE_PATH.test(new URL(request.url ?? '', 'https://x').pathname) && !installation.hasGate) {
        response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
        return;
      }
      const review = JSON.parse(Buffer.concat(chunks).toString()) as { apiVersion: string; request: { uid: string } };
      const answer = {
        apiVersion: review.apiVersion,
        kind: 'AdmissionReview',
        response: { uid: review.request.uid, allowed: true },
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  world.addCleanup(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const caBundle = certificate?.toString('base64');
  // No Service has endpoints in a test, so the webhooks have URLs. cert-manager adds the caBundle to a real
  // installation.
  const serve = (configuration: CapaConfiguration) => ({
    ...configuration,
    webhooks: configuration.webhooks.map((webhook) => ({
      ...webhook,
      clientConfig: { url: `${origin}${webhook.clientConfig.service.path}`, caBundle },
    })),
  });
  const configurations = released.map(serve);
  const applyAs = async (fieldManager: string, path: string, body: object): Promise<void> => {
    const contentType = 'application/apply-patch+yaml';
    const { status, body: answer } = await api.request('PATCH', path, {
      body,
      contentType,
      query: { fieldManager, force: true },
    });
    if (status >= 300) throw new Error(`applying ${path}: ${JSON.stringify(answer)}`);
  };
  let touches = 0;
  const installation: CapaInstallation = {
    hasGate: false,
    served: serve,
    released: released.flatMap(({ webhooks }) => webhooks.map(({ name }) => name)),
    async apply(fieldManager = 'clusterctl') {
      await applyAs(fieldManager, `${CRDS}/${crd.metadata.name}`, crd);
      await installation.applyWebhooks(fieldManager);
    },
    async applyWebhooks(fieldManager = 'clusterctl') {
      for (const each of configurations) await applyAs(fieldManager, pathOfConfiguration(each), each);
    },
    async webhooks() {
      const lists = await Promise.all(released.map((each) => api.get<CapaConfiguration>(pathOfConfiguration(each))));
      return lists.flatMap(({ webhooks }) => webhooks.map(({ name }) => name));
    },
    objects: () => Promise.all([PROFILE_CRD, ...released.map(pathOfConfiguration)].map((path) => api.get(path))),
    async touch() {
      const [first] = released;
      if (first === undefined) throw new Error('the release has no webhooks');
      touches += 1;
      const annotations = { 'tests.example.com/touched': String(touches) };
      await api.patch(pathOfConfiguration(first), { metadata: { annotations } });
    },
    async removeWebhooks() {
      for (const each of released) await api.delete(pathOfConfiguration(each));
    },
  };
  return installation;
}
