import { isNotFound, keyOf, type KubeClient, KubeError, type KubeObject } from 'controller-runtime/client';
import { API_VERSION, KIND } from '../../api/v1beta2/index.ts';
import { CAPA_WEBHOOKS } from '../shared/crd/crd-schema.ts';
import { PROFILES } from '../shared/live-profiles.ts';
import type { WebhookEntry } from './parts.ts';

/**
 * Whether Cluster API Provider AWS (CAPA) serves AWSFargateProfiles.
 *
 * - `served`: CAPA answers its webhooks for AWSFargateProfiles.
 * - `notServed`: CAPA's manager runs without such a webhook, because its feature gate EKSFargate is off.
 * - `notInstalled`: the Service of CAPA's webhooks does not exist.
 * - `noWebhook`: CAPA's configurations contain no webhook for AWSFargateProfiles, so nothing can be probed.
 * - `unclear`: any other result, which `because` describes, for example while CAPA's manager restarts. CAPA may serve
 *   AWSFargateProfiles.
 */
export type Answer =
  | { readonly kind: 'served'; readonly webhook: string }
  | { readonly kind: 'notServed' | 'notInstalled' | 'noWebhook' }
  | { readonly kind: 'unclear'; readonly because: string };

/** The dry run sets this annotation. The API server does not store the result of a dry run. */
const PROBE = { metadata: { annotations: { 'aws-fargate.cluster.x-k8s.io/dry-run': 'crd-keeper' } } };

/** Probes the webhooks by a dry run that patches an AWSFargateProfile, or else creates one in `namespace`. */
export async function askWebhooks(
  client: KubeClient,
  entries: readonly WebhookEntry[],
  { profile, namespace }: { readonly profile: KubeObject | undefined; readonly namespace: string },
  signal: AbortSignal,
): Promise<Answer> {
  if (entries.length === 0) return { kind: 'noWebhook' };
  try {
    if (profile === undefined) await client.create(PROFILES, namespace, draft(namespace), { dryRun: true, signal });
    else await client.mergePatch(PROFILES, keyOf(profile), PROBE, { dryRun: true, signal });
    return interpret(undefined, entries);
  } catch (error) {
    if (!(error instanceof KubeError) || error.status === 0) throw error;
    return interpret(error, entries);
  }
}

const draft = (namespace: string): object => ({
  apiVersion: API_VERSION,
  kind: KIND,
  metadata: { name: 'capaf-crd-keeper', namespace, ...PROBE.metadata },
  spec: { clusterName: 'none', selectors: [{ namespace: 'none' }] },
});

/**
 * Messages of k8s.io/apiserver v0.36 (pkg/util/webhook/error.go, pkg/admission/plugin/webhook/errors/statuserror.go,
 * pkg/util/proxy/proxy.go), because no error code distinguishes these errors. controller-runtime's webhook server
 * answers 404 for a path without a webhook.
 */
const FAILED = /failed calling webhook "([^"]*)"/;
const DENIED = /admission webhook "([^"]*)" denied/;
const NO_SUCH_PATH = /the server could not find the requested resource/;
const NO_SUCH_SERVICE = /service "[^"]*" not found/;

/** `error` is the API server's answer to the dry run, and `undefined` if it has accepted the dry run. */
export function interpret(error: KubeError | undefined, entries: readonly WebhookEntry[]): Answer {
  const decisive = entries.find(({ isDecisive }) => isDecisive);
  if (error === undefined)
    return decisive === undefined
      ? { kind: 'unclear', because: 'the API server does not ask the webhook about each write' }
      : { kind: 'served', webhook: decisive.name };
  const { message } = error;
  const denied = DENIED.exec(message)?.[1];
  if (denied !== undefined && CAPA_WEBHOOKS.includes(denied)) return { kind: 'served', webhook: denied };
  const failed = FAILED.exec(message)?.[1];
  if (failed !== undefined && CAPA_WEBHOOKS.includes(failed)) {
    if (NO_SUCH_PATH.test(message)) return { kind: 'notServed' };
    if (NO_SUCH_SERVICE.test(message)) return { kind: 'notInstalled' };
  }
  const because = isNotFound(error) ? 'the object of the dry run no longer exists' : message;
  return { kind: 'unclear', because };
}
