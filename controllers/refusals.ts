import { KubeError } from '../pkg/kube/errors.ts';
import { GIVE_CREDENTIALS, GRANT, NOT_GRANTED } from '../pkg/kube/remedies.ts';

/** What the API server does not do for the manager, and what a human can do about it. */
export interface Refusal {
  /** Its own words, after what was being done. */
  readonly words: string;
  /** Without the closing full stop. */
  readonly cure: string;
}

/** The two entries that a release of Cluster API Provider AWS brings for our kind, and serves with its own controller alone. */
const OF_CAPA = ['default', 'validation'].map((what) => `${what}.awsfargateprofile.infrastructure.cluster.x-k8s.io`);

/** Some webhooks say a lot, and an Event takes 1024 bytes in all: what is to be done about it must find its place. */
const MOST_WORDS = 600;

/**
 * What somebody has to see to, where the API server does not do what it was asked: permissions, admission webhooks and
 * policies, quotas, rules. `undefined` for anything else: no answer, a server that is busy or in trouble, somebody else's
 * write or deletion of the same object; these pass by themselves.
 */
export function refusalIn(error: unknown): Refusal | undefined {
  const cure = error instanceof KubeError ? cureOf(error) : undefined;
  return error instanceof KubeError && cure !== undefined ? { words: wordsOf(error), cure } : undefined;
}

/** What the API server said, the same from try to try. */
export function wordsOf({ message }: KubeError): string {
  const steady = message.replaceAll(OWN_PORT, '$1');
  return steady.length <= MOST_WORDS ? steady : `${[...steady].slice(0, MOST_WORDS).join('')}…`;
}

/** The port that a connection went out from differs from try to try: a condition that says it would never stand still. */
const OWN_PORT = /(\b(?:read|write) (?:tcp|udp) )\S+?->/g;

/** What is the matter, without the closing full stop. */
export const matterOf = ({ words }: Refusal): string => `The API server refuses what the manager needs: ${words}`;

/** Bad request, unauthorized, forbidden, method not allowed, too large, unprocessable. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 405, 413, 422]);

/** By its words first: who refuses may do so with any status. `undefined`: nothing is refused. */
function cureOf({ status, message }: KubeError): string | undefined {
  for (const [words, cure] of CURES) {
    const found = words.exec(message);
    if (found !== null) return cure(found[1] ?? '');
  }
  if (!REFUSALS.has(status)) return undefined;
  return status === 401 ? GIVE_CREDENTIALS : 'Mend what the API server names';
}

/**
 * Words of the API server, and the cure, given what they name. No code tells these apart: the words are those of
 * k8s.io/apiserver v0.36 (pkg/util/webhook/error.go, pkg/admission/plugin/webhook/errors/statuserror.go,
 * pkg/admission/plugin/policy/validating/dispatcher.go, pkg/admission/plugin/resourcequota/controller.go,
 * pkg/endpoints/handlers/responsewriters/errors.go) and of k8s.io/apiextensions-apiserver
 * (pkg/apiserver/conversion/webhook_converter.go).
 */
const CURES: readonly (readonly [words: RegExp, cure: (named: string) => string])[] = [
  [/failed calling webhook "([^"]*)"/, cureOfWebhook],
  [
    /conversion webhook for \S+, Kind=(\w+) failed/,
    (kind) => `Bring the service of the webhook back that converts ${kind} objects from version to version`,
  ],
  [
    /admission webhook "([^"]*)" denied/,
    (name) => `Let the manager through in what serves the admission webhook "${name}"`,
  ],
  [/ValidatingAdmissionPolicy '([^']*)'/, (name) => `Let the manager through in ValidatingAdmissionPolicy "${name}"`],
  [/exceeded quota/, () => 'Raise the ResourceQuota, or delete what is not needed'],
  [NOT_GRANTED, () => GRANT],
];

function cureOfWebhook(name: string): string {
  return OF_CAPA.includes(name)
    ? `Remove the entries ${OF_CAPA.join(' and ')} from the webhook configurations of Cluster API Provider AWS: nothing serves them while its feature gate EKSFargate is off, or its manager is not there`
    : `Bring the service of the webhook "${name}" back, or remove its entry from the webhook configuration`;
}
