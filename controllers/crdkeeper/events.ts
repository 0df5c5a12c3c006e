import { API_VERSION, KIND } from '../../api/v1beta2/index.ts';
import type { EventRecorder, EventType } from '../../pkg/kube/events/events.ts';
import { keyOf, keyText } from '../../pkg/kube/object-key.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import { CAPA_WEBHOOKS } from '../shared/crd/capa-webhooks.ts';
import { OUR_CRD } from '../shared/crd/served-schema.ts';
import type { Loss } from './lost-fields.ts';
import type { Observation, Part } from './observe.ts';
import { configurationKey } from './observe.ts';
import { MOST_REVERTS } from './restoration/revert-limit.ts';

/** A Kubernetes Event about the CRD, a webhook configuration or an AWSFargateProfile. */
export interface KeeperEvent {
  readonly about: KubeObject;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
}

export const recordEvents = (recorder: EventRecorder, events: readonly KeeperEvent[]): void => {
  for (const { about, type, reason, message } of events) recorder.record(about, type, reason, message);
};

const CRD_KIND = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
const ADMISSION_VERSION = 'admissionregistration.k8s.io/v1';
const KIND_OF = { mutating: 'MutatingWebhookConfiguration', validating: 'ValidatingWebhookConfiguration' } as const;

/**
 * Adds apiVersion and kind to the CRD. A real API server sends a single object with both; a fake API server in tests
 * may not.
 */
const aboutCrd = (crd: KubeObject): KubeObject => ({ ...crd, ...CRD_KIND });

/** Returns the Events about the CRD and the webhooks that the CRD keeper has restored. */
export function eventsOfRestoration(
  { crd, entries }: Observation,
  parts: readonly Part[],
  writers: readonly string[],
): readonly KeeperEvent[] {
  const by = writers.length === 0 ? 'another client' : quotedList(writers);
  const ofCrd = `The manager has applied its CRD again, because ${by} had replaced it by a CRD that drops fields of AWSFargateProfiles (--manage-crd)`;
  return [
    ...(crd !== undefined && parts.includes('crd')
      ? [{ about: aboutCrd(crd), type: 'Normal', reason: 'CRDRestored', message: ofCrd } as const]
      : []),
    ...entries
      .filter(({ phase }) => parts.includes(phase))
      .map(({ phase, name, configuration }) => ({
        about: { ...configuration, apiVersion: ADMISSION_VERSION, kind: KIND_OF[phase] },
        type: 'Normal' as const,
        reason: 'CAPAWebhookRemoved',
        message: `The manager has removed the webhook ${name}, which refused every write of AWSFargateProfiles, because Cluster API Provider AWS does not answer it (--manage-crd)`,
      })),
  ];
}

export const servesEvent = (crd: KubeObject, webhook: string): KeeperEvent => ({
  about: aboutCrd(crd),
  type: 'Warning',
  reason: 'CAPAServesProfiles',
  message: `Cluster API Provider AWS answers the webhook ${webhook}, so its feature gate EKSFargate is on and its controller reconciles AWSFargateProfiles. The manager leaves the CRD and the webhooks as they are, and changes no AWSFargateProfile in AWS. Turn off the feature gate, or remove cluster-api-provider-aws-fargate.`,
});

/**
 * Returns the text about a stopped CRD keeper: the problem and an action for the operator, each without the closing
 * full stop.
 */
export function describeStop(
  parts: readonly Part[],
  writers: readonly string[],
  configMap: ObjectKey,
): { readonly problem: string; readonly remedy: string } {
  const by = writers.length === 0 ? 'Another client' : quotedList(writers);
  const applied = writers.length === 0 ? 'what it applies' : `what ${quotedList(writers)} applies`;
  const them = parts.length === 1 ? 'it' : 'them';
  return {
    problem: `${by} has replaced ${parts.map(describePart).join(', ')} ${MOST_REVERTS} times within 24 hours after the manager had restored ${them}, so the manager stops and waits for you`,
    remedy: `Exclude ${them} from ${applied}, as docs/migration-from-capa.md shows for Flux and Argo CD. Then delete ConfigMap ${keyText(configMap)}: the manager then restores ${them} again`,
  };
}

const describePart = (part: Part): string =>
  part === 'crd'
    ? `CRD ${OUR_CRD.name}`
    : `webhook ${CAPA_WEBHOOKS[part === 'mutating' ? 0 : 1]} of ${configurationKey(part).name}`;

export const stopEvent = (
  crd: KubeObject,
  { problem, remedy }: { readonly problem: string; readonly remedy: string },
): KeeperEvent => ({
  about: aboutCrd(crd),
  type: 'Warning',
  reason: 'CRDKeeperStopped',
  message: `${problem}. ${remedy}.`,
});

/**
 * Returns the Event about an AWSFargateProfile that lost fields because a client wrote it under the CRD of another
 * provider.
 */
export function lossEvent({ object, fields }: Loss): KeeperEvent {
  const ofSpec = fields.filter((field) => field.startsWith('spec.'));
  const message =
    ofSpec.length > 0
      ? `This AWSFargateProfile has lost ${ofSpec.join(', ')}, because a client wrote it while the API server served a CRD without these fields. Apply your manifest of this object again. The controller writes the fields of status again on its own.`
      : 'This AWSFargateProfile has lost fields of its status, because a client wrote it while the API server served a CRD without these fields. The controller writes them again on its own.';
  const about = { ...object, apiVersion: API_VERSION, kind: KIND };
  return { about, type: 'Warning', reason: 'FieldsLost', message };
}

/** Returns a line about lost fields for the log and the record, such as `default/web: spec.roleARN`. */
export const lossText = ({ object, fields }: Loss): string => `${keyText(keyOf(object))}: ${fields.join(', ')}`;

const quotedList = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(' and ');
