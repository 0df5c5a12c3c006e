import { FINALIZER } from '../../../api/v1beta2/index.ts';

/**
 * How a user can end the deletion of an object while the controller cannot delete profile and role in AWS. `retain`: by
 * setting `deletionPolicy: Retain`. `removeFinalizer`: by removing the finalizer, because in a teardown the controller
 * asks AWS also about a retained profile.
 */
export type Abandonment = 'retain' | 'removeFinalizer';

/**
 * One sentence about how to end the deletion, for the end of a remedy. `condition`: when to do so, for example ", if
 * …,".
 */
export const describeAbandonment = (abandonment: Abandonment, condition = ''): string =>
  abandonment === 'retain'
    ? `Or${condition} set spec.deletionPolicy to Retain: then this object is deleted, and its profile and role stay in AWS`
    : `Or${condition} remove ${FINALIZER} from metadata.finalizers of this object: then the controller forgets its profile and role, and both stay in AWS`;

/** `abandonment`: how a user can end the deletion of the object; undefined: the object is not being deleted. */
export type Abandonable = { readonly abandonment?: Abandonment | undefined };

/**
 * The text of a remedy, which for a deletion also says how a user can end the deletion. `lasting`: the condition under
 * which a user should remove the finalizer, although a removed finalizer is hard to undo.
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
