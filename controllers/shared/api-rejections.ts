import { GIVE_CREDENTIALS, KubeError, NOT_GRANTED } from 'controller-runtime/client';
import { cut } from 'controller-runtime/text';
import type { MessageParts } from './message.ts';
import { CAPA_WEBHOOKS } from './crd/crd-schema.ts';

export interface ApiRejection {
  /** The rejected request, a colon, and the API server's error message. */
  readonly message: string;
  /** What the user can do, without the final period. */
  readonly remedy: string;
}

/** The remedy for a missing permission, without the final period. */
export const GRANT =
  'Apply the roles and role bindings of the manager again (config/rbac), or undo the changes that were made to them';

/** In UTF-16 code units. The text of an Event can have 1024 bytes, and a remedy follows. */
const MAX_MESSAGE = 600;

/** Returns `undefined` if a user cannot fix the error: no answer, a failing server, a concurrent write or deletion. */
export function apiRejectionFrom(error: unknown): ApiRejection | undefined {
  const remedy = error instanceof KubeError ? remedyFor(error) : undefined;
  return error instanceof KubeError && remedy !== undefined ? { message: describeApiError(error), remedy } : undefined;
}

/** Omits the parts that differ between attempts, so that a condition does not change with every attempt. */
export function describeApiError({ message }: KubeError): string {
  return cut(message.replaceAll(LOCAL_PORT, '$1'), MAX_MESSAGE);
}

/** The local port of a TCP or UDP connection. */
const LOCAL_PORT = /(\b(?:read|write) (?:tcp|udp) )\S+?->/g;

export const partsOfRejection = ({ message, remedy }: ApiRejection): MessageParts => ({
  problem: 'The API server rejects a request from the controller',
  remedy,
  quote: { said: message },
});

/** Bad request, unauthorized, forbidden, method not allowed, too large, unprocessable: only a user can fix these. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 405, 413, 422]);

/** The message is checked before the HTTP status, because a webhook can deny a request with any status. */
function remedyFor({ status, message }: KubeError): string | undefined {
  for (const [pattern, remedy] of REMEDIES) {
    const found = pattern.exec(message);
    if (found !== null) return remedy(found[1] ?? '', message);
  }
  if (!REFUSALS.has(status)) return undefined;
  return status === 401 ? GIVE_CREDENTIALS : 'Fix the problem that the API server reports';
}

/**
 * No error code distinguishes these errors. The messages are those of k8s.io/apiserver v0.36
 * (pkg/util/webhook/error.go, pkg/admission/plugin/webhook/errors/statuserror.go,
 * pkg/admission/plugin/policy/validating/dispatcher.go, pkg/admission/plugin/resourcequota/controller.go,
 * pkg/endpoints/handlers/responsewriters/errors.go) and of k8s.io/apiextensions-apiserver
 * (pkg/apiserver/conversion/webhook_converter.go).
 */
const REMEDIES: readonly (readonly [pattern: RegExp, remedy: (name: string, message: string) => string])[] = [
  [/failed calling webhook "([^"]*)"/, remedyForWebhook],
  [/conversion webhook for \S+, Kind=(\w+) failed/, (kind) => `Fix the conversion webhook for ${kind} objects`],
  [
    /admission webhook "([^"]*)" denied/,
    (name) => `Change the admission webhook "${name}" so that it allows this request`,
  ],
  [
    /ValidatingAdmissionPolicy '([^']*)'/,
    (name) => `Change ValidatingAdmissionPolicy "${name}" so that it allows this request`,
  ],
  [/exceeded quota/, () => 'Raise the ResourceQuota, or delete objects that you do not need'],
  [NOT_GRANTED, () => GRANT],
];

/** The webhook's server answers, but serves nothing at the webhook's path. */
const PATH_NOT_SERVED = /could not find the requested resource/;
const WEBHOOK_SERVICE = /Post "https:\/\/([^./"]+)\.([^./"]+)\.svc\b/;

function remedyForWebhook(name: string, message: string): string {
  const isServerUp = PATH_NOT_SERVED.test(message);
  if (CAPA_WEBHOOKS.includes(name)) {
    const removal = `remove the webhooks ${CAPA_WEBHOOKS.join(' and ')} from the webhook configurations of Cluster API Provider AWS`;
    return isServerUp
      ? `The webhook server is running but does not serve this webhook, usually because the feature gate EKSFargate of Cluster API Provider AWS is off. If it is to stay off, ${removal}`
      : `If Cluster API Provider AWS is installed with its feature gate EKSFargate on, check that its manager is running. Otherwise ${removal}`;
  }
  const [, service, namespace] = (isServerUp ? null : WEBHOOK_SERVICE.exec(message)) ?? [];
  return service === undefined
    ? `Fix the webhook "${name}", or remove it from its webhook configuration`
    : `Check that the pods behind Service ${namespace}/${service} are running. If you no longer need the webhook "${name}", remove it from its webhook configuration`;
}
