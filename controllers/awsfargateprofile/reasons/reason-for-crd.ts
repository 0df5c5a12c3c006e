import type { ServedSchemaState } from '../../shared/crd/served-schema.ts';
import { type Reason, newReason } from './reasons.ts';

/**
 * Returns the reason for which the controller changes nothing in AWS: the API server has the CRD of another provider,
 * the controller of Cluster API Provider AWS reconciles AWSFargateProfiles, or the CRD cannot be read. In the last case
 * the controller deletes nothing, but still creates and corrects. `undefined` if this controller may work.
 */
export function reasonForSchema(state: ServedSchemaState): Reason | undefined {
  switch (state.kind) {
    case 'ours':
      return undefined;
    case 'foreign':
      return newReason('ForeignSchema', state);
    case 'capaServes':
      return newReason('CAPAServesProfiles', state);
    case 'unreadable':
      return newReason('WaitingForAPI', { kind: 'CustomResourceDefinition', reason: state.reason });
  }
}
