import { diffMergePatch, type UnknownRecord } from 'controller-runtime/json';
import type { ObjectMeta, OwnerReference } from 'controller-runtime/schema';
import { type Cluster, CLUSTER_GROUP, CLUSTER_KIND } from '../../../api/external/index.ts';
import {
  type AWSFargateProfile,
  CLUSTER_NAME_LABEL,
  FINALIZER,
  RECORD_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import type { ReconcileInputs } from './inputs.ts';
import { type Goal, withRetain } from './goal.ts';
import { hasFinalizer, isDeleting, isMoving, isRetained } from '../../shared/object-state.ts';
import { FIRST_RECORD, type ProfileRecord, formatRecord, recordOf, reportedLocationOf } from '../../shared/record.ts';

/**
 * Returns the changes to metadata that must be in place before the controller changes AWS. Returns `undefined` for an
 * object that `clusterctl move` is moving, and for an object that is being deleted, because the API server rejects new
 * finalizers on it.
 */
export function metadataPatch(
  { object, cluster, clusterApiVersion }: ReconcileInputs,
  goal: Goal,
): UnknownRecord | undefined {
  if (isDeleting(object) || isMoving(object)) return undefined;
  const { metadata } = object;
  const { clusterName } = object.spec;
  // Another client may have removed the finalizer. A record alone may be a copy from another management cluster.
  const mustComeBack = reportedLocationOf(object).kind === 'known' && !isRetained(object);
  const isNeeded = goal.kind === 'pursue' || mustComeBack;
  const finalizers = isNeeded ? withFinalizer(metadata.finalizers) : metadata.finalizers;
  const annotations = withRetain(object);
  // An object that gets the finalizer only now has nothing in AWS, unless its record or status says otherwise.
  const isBeginning = finalizers !== metadata.finalizers && recordOf(object).in.kind === 'unknown';
  return metadataDiff(metadata, {
    ...metadata,
    labels: clusterName === undefined ? metadata.labels : { ...metadata.labels, [CLUSTER_NAME_LABEL]: clusterName },
    annotations: isBeginning
      ? { ...annotations, [RECORD_ANNOTATION]: formatRecord(FIRST_RECORD, object) }
      : annotations,
    finalizers,
    ownerReferences:
      cluster.kind === 'found' && clusterName !== undefined
        ? withOwnerReference(object, cluster.object, clusterApiVersion)
        : metadata.ownerReferences,
  });
}

/**
 * If another controller's finalizer keeps the object, the emptied record later shows that this controller, and not
 * another client, removed this controller's finalizer.
 */
export function removeFinalizerPatch(object: AWSFargateProfile): UnknownRecord | undefined {
  if (!hasFinalizer(object)) return undefined;
  const { metadata } = object;
  const finalizers = metadata.finalizers?.filter((each) => each !== FINALIZER) ?? [];
  const gone: ProfileRecord = { ...recordOf(object), profiles: [], roles: [], deleting: true };
  const annotations = { ...metadata.annotations, [RECORD_ANNOTATION]: formatRecord(gone, object) };
  return metadataDiff(metadata, { ...metadata, finalizers, ...(finalizers.length > 0 && { annotations }) });
}

export const recordPatch = (object: AWSFargateProfile, record: ProfileRecord): UnknownRecord | undefined =>
  metadataDiff(object.metadata, {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, [RECORD_ANNOTATION]: formatRecord(record, object) },
  });

type Changing = { readonly [K in keyof ObjectMeta]?: ObjectMeta[K] | undefined };

const metadataDiff = (before: ObjectMeta, after: Changing): UnknownRecord | undefined =>
  diffMergePatch({ metadata: { ...before } }, { metadata: { ...after } });

const withFinalizer = (finalizers: readonly string[] = []): readonly string[] =>
  finalizers.includes(FINALIZER) ? finalizers : [...finalizers, FINALIZER];

/**
 * `clusterctl move` finds the object through its owner reference to the Cluster. While the Cluster is being deleted,
 * the references stay unchanged, because the garbage collector may be removing them.
 */
function withOwnerReference(
  object: AWSFargateProfile,
  cluster: Cluster,
  apiVersion: string,
): ObjectMeta['ownerReferences'] {
  const before = object.metadata.ownerReferences;
  if (cluster.metadata.deletionTimestamp !== undefined) return before;
  const isOurs = (reference: OwnerReference): boolean =>
    reference.kind === CLUSTER_KIND &&
    reference.apiVersion.startsWith(`${CLUSTER_GROUP}/`) &&
    reference.name === cluster.metadata.name;
  if (isTrackedByArgoCD(object.metadata)) return before?.filter((reference) => !isOurs(reference));
  const owner = { apiVersion, kind: CLUSTER_KIND, name: cluster.metadata.name, uid: cluster.metadata.uid };
  const known = before?.find(isOurs);
  return known === undefined
    ? [...(before ?? []), owner]
    : before?.map((reference) => (reference === known ? { ...known, ...owner } : reference));
}

type Marks = Pick<ObjectMeta, 'annotations' | 'labels'>;

/**
 * Argo CD never prunes an object with an owner reference, so an object that Argo CD tracks gets none. Helm charts also
 * set the label `app.kubernetes.io/instance`, which Argo CD used by default before 3.0.
 */
export function isTrackedByArgoCD({ annotations = {}, labels = {} }: Marks): boolean {
  if (annotations['argocd.argoproj.io/tracking-id'] !== undefined) return true;
  if (labels['argocd.argoproj.io/instance'] !== undefined) return true;
  return labels['app.kubernetes.io/instance'] !== undefined && !isOfHelmRelease({ annotations, labels });
}

const isOfHelmRelease = ({ annotations = {}, labels = {} }: Marks): boolean =>
  labels['app.kubernetes.io/managed-by'] === 'Helm' ||
  Object.keys(annotations).some((key) => key.startsWith('meta.helm.sh/'));
