import type { ServedSchemaState } from '../../shared/crd/served-schema.ts';
import { type Reason, newReason } from './reasons.ts';

/** If the CRD cannot be read, nothing is deleted, but the controller still creates and corrects. */
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
