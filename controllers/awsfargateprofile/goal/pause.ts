import { PAUSED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { hasPausedAnnotation } from '../../shared/object-state.ts';
import type { ReconcileInputs } from './inputs.ts';

/** In the words of Cluster API's `Paused` condition. */
export function findPauses({ object, cluster }: ReconcileInputs): readonly string[] {
  return [
    ...(cluster.kind === 'found' && cluster.object.paused ? ['Cluster spec.paused is set to true'] : []),
    ...(hasPausedAnnotation(object) ? [`AWSFargateProfile has the ${PAUSED_ANNOTATION} annotation`] : []),
  ];
}
