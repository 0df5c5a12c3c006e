import { FINALIZER } from '../../../api/v1beta2/index.ts';

/**
 * How a user can end the deletion of an object while the controller cannot delete profile and role in AWS. `retain`
 * stands for setting `deletionPolicy: Retain`. `removeFinalizer` stands for removing the finalizer. It is the only way
 * while the EKS cluster is being deleted, because the controller then asks AWS even about a retained profile.
 */
export type Abandonment = 'retain' | 'removeFinalizer';

/**
 * Returns a sentence for the end of a remedy: how a user can end the deletion. `condition` says when to do so, for
 * example ", if …,".
 */
export const describeAbandonment = (abandonment: Abandonment, condition = ''): string =>
  abandonment === 'retain'
    ? `Or${condition} set spec.deletionPolicy to Retain: then this object is deleted, and its profile and role stay in AWS`
    : `Or${condition} remove ${FINALIZER} from metadata.finalizers of this object: then the controller forgets its profile and role, and both stay in AWS`;

/** `abandonment` is how a user can end the deletion of the object; undefined if the object is not being deleted. */
export type Abandonable = { readonly abandonment?: Abandonment | undefined };

/**
 * Returns the remedy in a condition's message. For a deletion, the remedy also says how a user can end it. Removing the
 * finalizer is hard to undo, so `lasting` gives the condition under which a user should do it.
 */
export function remedyFor(
  action: string,
  outlook: string,
  abandonment: Abandonment | undefined,
  lasting = 'the account is lost',
): string {
  const condition = abandonment === 'removeFinalizer' ? `, if ${lasting},` : '';
  const wayOut = abandonment === undefined ? [] : [describeAbandonment(abandonment, condition)];
  return [action, ...wayOut, outlook].join('. ');
}
