import { DELETE_FOR_MOVE_ANNOTATION, FINALIZER, RECORD_ANNOTATION } from '../../../../api/v1beta2/index.ts';
import { defineReason } from '../spec/reason-spec.ts';
import { MINUTE, SECOND, pollRarely, pollDoubling } from '../spec/poll-intervals.ts';
import { describeAbandonment } from '../wording/abandonment.ts';
import { CONTINUES, quoted } from '../wording/phrases.ts';

export const MOVE_AND_DELETION_REASONS = {
  MoveAbandoned: defineReason<{ readonly cluster?: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster }) =>
      `the annotation ${DELETE_FOR_MOVE_ANNOTATION} says that clusterctl is about to delete this object here, because it has moved the object. But ${cluster === undefined ? 'the object is not being deleted' : `Cluster ${cluster} is not paused`}, so clusterctl is probably not moving it. The controller does nothing for this object`,
    remedy: () =>
      `If the object exists in another management cluster, remove the finalizers of this object here and delete it here: then nothing changes in AWS. Otherwise remove the annotation: then the controller continues`,
  }),
  /** `problem` completes the sentence "the annotation …". */
  RecordUnreadable: defineReason<{ readonly problem: string }>({
    nature: 'human',
    keepsReady: true,
    poll: pollRarely,
    describe: ({ problem }) =>
      `the annotation ${RECORD_ANNOTATION}, in which the controller notes what this object has in AWS, ${problem}. The controller changes nothing in AWS for this object`,
    remedy: () =>
      `If a newer version of the controller has written the annotation, run that version. Otherwise remove the annotation: then the controller looks for what this object has in AWS, and writes the annotation again`,
  }),
  ClusterDeletionProtected: defineReason<{ readonly cluster: string; readonly region: string }>({
    nature: 'human',
    // The polls are frequent, so that the deletion of the EKS cluster continues soon after the user has acted.
    poll: pollDoubling(15 * SECOND, 2 * MINUTE),
    describe: ({ cluster }) =>
      `EKS cluster ${quoted(cluster)} is to be deleted, but EKS refuses that while the deletion protection of the cluster is on. The deletion of its Fargate profiles would only stop their pods, so the controller deletes nothing of this object in AWS`,
    remedy: ({ cluster, region }) =>
      [
        `If you want to delete the EKS cluster, run: aws eks update-cluster-config --name ${cluster} --region ${region} --no-deletion-protection. ${CONTINUES}`,
        describeAbandonment('removeFinalizer', ', if you want to keep the EKS cluster,'),
      ].join('. '),
  }),
  RetainBlocksClusterDeletion: defineReason<{ readonly name: string; readonly cluster: string }>({
    nature: 'human',
    // The polls are frequent, so that the deletion of the EKS cluster continues soon after the user has acted.
    poll: pollDoubling(15 * SECOND, 2 * MINUTE),
    describe: ({ name, cluster }) =>
      `Fargate profile ${quoted(name)} blocks the deletion of EKS cluster ${quoted(cluster)}: EKS deletes no cluster that has Fargate profiles, and the controller keeps this profile because spec.deletionPolicy is Retain`,
    remedy: () =>
      `If you no longer need the profile and its role, set spec.deletionPolicy of this object to Delete: then the controller deletes both. If you want to keep the role, delete only the profile yourself in AWS. Or, if this object must go at once, delete it, remove ${FINALIZER} from its metadata.finalizers, and delete the profile yourself in AWS. The deletion of the cluster waits until the profile is gone`,
  }),
} as const;
