import { keyOf, keyText, type ObjectKey } from 'controller-runtime/client';
import type { EventRecorder } from 'controller-runtime/events';
import type { Logger } from 'controller-runtime/log';
import type { ApiRejection } from '../shared/api-rejections.ts';
import { CAPA_WEBHOOKS } from '../shared/crd/crd-schema.ts';
import { OUR_CRD } from '../shared/crd/served-schema.ts';
import type { Loss } from './lost-fields.ts';
import { configurationKey, type Observation, type Part } from './parts.ts';
import { MOST_REVERTS } from './record.ts';

/** Logs each state and records an Event. Reports a lasting state once. */
export class KeeperEvents {
  private readonly recorder: EventRecorder;
  private reported: string | undefined;

  constructor(recorder: EventRecorder) {
    this.recorder = recorder;
  }

  /** Forgets the last reported state, so that the next state is reported even if it is the same. */
  rests(): void {
    this.reported = undefined;
  }

  waits(because: string, logger: Logger): void {
    this.once(because, () => logger.info('The CRD keeper waits', { because }));
  }

  rejected({ message, remedy }: ApiRejection, logger: Logger): void {
    this.once(message, () =>
      logger.warn('The API server rejects a request of the CRD keeper', { rejection: message, remedy }),
    );
  }

  leftToCapa({ crd }: Observation, webhook: string, logger: Logger): void {
    this.once(`served ${webhook}`, () => {
      logger.warn('Cluster API Provider AWS serves AWSFargateProfiles: nothing is changed', { webhook });
      const message = `Cluster API Provider AWS answers the webhook ${webhook}, so its feature gate EKSFargate is on and its controller reconciles AWSFargateProfiles. The manager leaves the CRD and the webhooks as they are, and changes no AWSFargateProfile in AWS. Turn off the feature gate, or remove cluster-api-provider-aws-fargate.`;
      if (crd !== undefined) this.recorder.record(crd, 'Warning', 'CAPAServesProfiles', message);
    });
  }

  stopped({ crd }: Observation, description: StopDescription, writers: readonly string[], logger: Logger): void {
    const { problem, remedy } = description;
    this.once(problem, () => {
      logger.warn('The CRD keeper has stopped', { ...description, writers: writers.join(', ') });
      if (crd !== undefined) this.recorder.record(crd, 'Warning', 'CRDKeeperStopped', `${problem}. ${remedy}.`);
    });
  }

  restored({ crd, entries }: Observation, parts: readonly Part[], writers: readonly string[], logger: Logger): void {
    logger.info('The CRD keeper has restored what another client had replaced', {
      parts: parts.join(', '),
      writers: writers.join(', '),
    });
    const by = writers.length === 0 ? 'another client' : quotedList(writers);
    const ofCrd = `The manager has applied its CRD again, because ${by} had replaced it by a CRD that drops fields of AWSFargateProfiles (--manage-crd)`;
    if (crd !== undefined && parts.includes('crd')) this.recorder.record(crd, 'Normal', 'CRDRestored', ofCrd);
    for (const { phase, name, configuration } of entries) {
      const ofWebhook = `The manager has removed the webhook ${name}, which refused every write of AWSFargateProfiles, because Cluster API Provider AWS does not answer it (--manage-crd)`;
      if (parts.includes(phase)) this.recorder.record(configuration, 'Normal', 'CAPAWebhookRemoved', ofWebhook);
    }
  }

  /** The AWSFargateProfiles lost fields because a client wrote them under another provider's CRD. */
  fieldsLost(losses: readonly Loss[], logger: Logger): void {
    const texts = losses.map(lossText).join('; ');
    logger.info('The CRD is ours again', { lostFields: losses.length, objects: texts });
    for (const { object, fields } of losses) {
      const ofSpec = fields.filter((field) => field.startsWith('spec.'));
      const message =
        ofSpec.length > 0
          ? `This AWSFargateProfile has lost ${ofSpec.join(', ')}, because a client wrote it while the API server served a CRD without these fields. Apply this object's manifest again. The controller restores the fields of status.`
          : 'This AWSFargateProfile has lost fields of its status, because a client wrote it while the API server served a CRD without these fields. The controller restores them.';
      this.recorder.record(object, 'Warning', 'FieldsLost', message);
    }
  }

  private once(state: string, report: () => void): void {
    if (this.reported === state) return;
    this.reported = state;
    report();
  }
}

/** Sentences without a final period. */
interface StopDescription {
  readonly problem: string;
  readonly remedy: string;
}

export function describeStop(
  parts: readonly Part[],
  writers: readonly string[],
  configMap: ObjectKey,
): StopDescription {
  const by = writers.length === 0 ? 'Another client' : quotedList(writers);
  const applied = writers.length === 0 ? 'what it applies' : `what ${by} applies`;
  const them = parts.length === 1 ? 'it' : 'them';
  return {
    problem: `${by} has ${parts.map(describeChange).join(' and ')} ${MOST_REVERTS} times within 24 hours. The manager undid this each time, but has stopped doing so`,
    remedy: `Exclude ${them} from ${applied}, as docs/migration-from-capa.md shows for Flux and Argo CD. Then delete ConfigMap ${keyText(configMap)}, so that the manager undoes such changes again`,
  };
}

const describeChange = (part: Part): string =>
  part === 'crd'
    ? `replaced CRD ${OUR_CRD.name}`
    : `added webhook ${CAPA_WEBHOOKS[part === 'mutating' ? 0 : 1]} to ${configurationKey(part).name}`;

/** Returns a text such as `default/web: spec.roleARN`, for the log and the ConfigMap. */
export const lossText = ({ object, fields }: Loss): string => `${keyText(keyOf(object))}: ${fields.join(', ')}`;

const quotedList = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(' and ');
