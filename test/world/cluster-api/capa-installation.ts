import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { dirname, join } from 'node:path';
import type { RawObject } from '../../envtest/clients/api.ts';
import { type CapaConfiguration, capaManifests } from '../../envtest/control-plane/capa-manifests.ts';
import { listenOnLoopback } from '../../support/proxies/listen.ts';
import type { World } from '../world.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
export const PROFILE_CRD_NAME = 'awsfargateprofiles.infrastructure.cluster.x-k8s.io';
export const PROFILE_CRD = `${CRDS}/${PROFILE_CRD_NAME}`;
const FARGATE_PATH = /-awsfargateprofile$/;

const pathOfConfiguration = ({ kind, metadata }: Pick<CapaConfiguration, 'kind' | 'metadata'>): string =>
  `${ADMISSION}/${kind.toLowerCase()}s/${metadata.name}`;

/**
 * The CRD and the webhook configurations of the real Cluster API Provider AWS, and a simulated webhook server. Like the
 * real one, the server answers 404 for AWSFargateProfiles while the feature gate EKSFargate is off. It accepts all
 * other objects.
 */
export interface CapaInstallation {
  /** Whether the feature gate EKSFargate of Cluster API Provider AWS is on; false at first. */
  hasGate: boolean;
  /**
   * Applies the CRD and the webhook configurations of Cluster API Provider AWS as the field manager `clusterctl`, with
   * server-side apply and `force`.
   */
  apply(): Promise<void>;
  applyWebhooks(): Promise<void>;
  /** Returns the given webhook configuration, with the URL of the simulated webhook server in each of its webhooks. */
  served(configuration: CapaConfiguration): object;
  /** The names of the webhooks of Cluster API Provider AWS that the API server has now. */
  webhooks(): Promise<readonly string[]>;
  /** The names of the webhooks in the release of Cluster API Provider AWS. */
  readonly releasedWebhooks: readonly string[];
  /** The CRD and the webhook configurations of Cluster API Provider AWS as the API server has them now. */
  objects(): Promise<readonly RawObject[]>;
  /** Changes an annotation of a webhook configuration, so that every watch of webhook configurations gets an event. */
  touch(): Promise<void>;
  /** Deletes the webhook configurations of Cluster API Provider AWS, as `clusterctl delete` does. */
  removeWebhooks(): Promise<void>;
}

/** Starts the simulated webhook server of Cluster API Provider AWS, without applying the webhook configurations. */
export async function startCapaInstallation(world: World): Promise<CapaInstallation> {
  const { crd, configurations: released } = await capaManifests();
  const { api, caPath } = world.controlPlane;
  // The webhook server uses the certificate of the API server, which is valid for 127.0.0.1 and which the API server
  // trusts.
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
  // By default, Node.js closes a connection after 5 s without a request, even if the next request of the API server has
  // just arrived. The API server itself closes its connections to webhooks after 90 s without a request, so the webhook
  // server waits for longer than 90 s.
  server.keepAliveTimeout = 120_000;
  const origin = `https://127.0.0.1:${await listenOnLoopback(server)}`;
  world.addCleanup(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const caBundle = certificate?.toString('base64');
  // In a test no Service has endpoints, so the webhooks have URLs. The test sets the caBundle, which cert-manager adds
  // in a real installation.
  const serve = (configuration: CapaConfiguration) => ({
    ...configuration,
    webhooks: configuration.webhooks.map((webhook) => ({
      ...webhook,
      clientConfig: { url: `${origin}${webhook.clientConfig.service.path}`, caBundle },
    })),
  });
  const configurations = released.map(serve);
  const applyByForce = async (path: string, body: object): Promise<void> => {
    const contentType = 'application/apply-patch+yaml';
    const { status, body: answer } = await api.request('PATCH', path, {
      body,
      contentType,
      query: { fieldManager: 'clusterctl', force: true },
    });
    if (status >= 300) throw new Error(`applying ${path}: ${JSON.stringify(answer)}`);
  };
  let touches = 0;
  const installation: CapaInstallation = {
    hasGate: false,
    served: serve,
    releasedWebhooks: released.flatMap(({ webhooks }) => webhooks.map(({ name }) => name)),
    async apply() {
      await applyByForce(`${CRDS}/${crd.metadata.name}`, crd);
      await installation.applyWebhooks();
    },
    async applyWebhooks() {
      for (const each of configurations) await applyByForce(pathOfConfiguration(each), each);
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
