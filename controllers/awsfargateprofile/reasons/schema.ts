import type { ServedSchemaState } from '../../shared/served-schema.ts';
import type { Reason } from './reasons.ts';
import { newReason } from './reasons.ts';

/**
 * The reason for which nothing is changed under the CRD that the API server serves, or beside the controller of Cluster
 * API Provider AWS; `undefined` if there is none.
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
