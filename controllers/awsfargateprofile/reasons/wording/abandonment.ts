import { FINALIZER } from '../../../../api/v1beta2/index.ts';

/**
 * How a user can make a deleted object disappear while its profile and role stay in AWS: `deletionPolicy: Retain`, or
 * no finalizer. While the EKS cluster is being deleted, only the second helps: an object with `Retain` also waits for
 * its profile, because EKS deletes no cluster with profiles.
 */
export type Abandonment = 'retain' | 'removeFinalizer';

/** `condition` says when to do so, for example ", if …,". */
export function describeAbandonment(abandonment: Abandonment, condition = ''): string {
  const action =
    abandonment === 'retain'
      ? 'set spec.deletionPolicy to Retain'
      : `remove ${FINALIZER} from metadata.finalizers of this object`;
  return `Or${condition} ${action}: then the deletion of this object ends, and its profile and role stay in AWS`;
}

export type Abandonable = { readonly abandonment?: Abandonment | undefined };

/** The removal of the finalizer is hard to undo, so it is advised only for the case that `lasting` describes. */
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
