import { FINALIZER } from '../../../../api/v1beta2/index.ts';

/**
 * How a user can make a deleted AWSFargateProfile disappear although the controller cannot delete its profile and role
 * in AWS. `retain`: the user sets `deletionPolicy: Retain`. `removeFinalizer`: the user removes the finalizer. While
 * the EKS cluster is being deleted, only `removeFinalizer` helps: EKS deletes no cluster with profiles, so an object
 * with `Retain` then also waits until AWS shows that its profile is gone.
 */
export type Abandonment = 'retain' | 'removeFinalizer';

/**
 * Returns a sentence for a condition's message. The sentence tells the user how to make the deleted AWSFargateProfile
 * disappear while its profile and role stay in AWS. `condition` is a clause of the sentence that says when to do so,
 * for example ", if …,".
 */
export function describeAbandonment(abandonment: Abandonment, condition = ''): string {
  const action =
    abandonment === 'retain'
      ? 'set spec.deletionPolicy to Retain'
      : `remove ${FINALIZER} from metadata.finalizers of this object`;
  return `Or${condition} ${action}: then the deletion of this object ends, and its profile and role stay in AWS`;
}

/** `abandonment` is how a user can make the deleted object disappear; undefined if the object is not being deleted. */
export type Abandonable = { readonly abandonment?: Abandonment | undefined };

/**
 * Returns the remedy in a condition's message. For a deleted object, the remedy also tells the user how to make the
 * object disappear while its profile and role stay in AWS. The removal of the finalizer is hard to undo, so the remedy
 * advises it only for the case that the clause `lasting` describes.
 */
export function remedyFor(
  action: string,
  outlook: string,
  abandonment: Abandonment | undefined,
  lasting = 'you can no longer get credentials for the AWS account',
): string {
  const condition = abandonment === 'removeFinalizer' ? `, if ${lasting},` : '';
  const wayOut = abandonment === undefined ? [] : [describeAbandonment(abandonment, condition)];
  return [action, outlook, ...wayOut].join('. ');
}
