import { RECORD_ANNOTATION } from '../../../../api/v1beta2/index.ts';
import { defineReason } from '../spec/reason-spec.ts';
import { pollRarely } from '../spec/poll-intervals.ts';
import { type Abandonment, describeAbandonment } from '../wording/abandonment.ts';
import { CONTINUES, quoted, REPLACE_OBJECT } from '../wording/phrases.ts';

export const TARGET_REASONS = {
  /** `provisionedIn`: account, region and EKS cluster, as text. */
  ClusterNotNamed: defineReason<{ readonly provisionedIn: string | undefined }>({
    nature: 'human',
    poll: pollRarely,
    describe: () =>
      'the spec has neither clusterName nor eksCluster. Probably the API server dropped eksCluster at a time when the CRD of another provider was installed',
    remedy: ({ provisionedIn }) =>
      provisionedIn === undefined
        ? `Set spec.clusterName to the name of a Cluster of this namespace, or set spec.eksCluster. ${CONTINUES}`
        : `Set name and region in spec.eksCluster again, and identityRef if it was set. This object records ${provisionedIn} (account/region/name) as the place of its Fargate profile. ${CONTINUES}`,
  }),
  UseClusterName: defineReason<{
    readonly eksCluster: string;
    readonly controlPlane: string;
    readonly cluster: string | undefined;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ eksCluster, controlPlane }) =>
      `EKS cluster ${quoted(eksCluster)} in spec.eksCluster is that of AWSManagedControlPlane ${controlPlane}, so Cluster API manages it`,
    remedy: ({ cluster }) =>
      `The controller creates nothing in AWS for this object. Delete this object, and create it with ${cluster === undefined ? 'spec.clusterName' : `spec.clusterName ${quoted(cluster)}`} instead of spec.eksCluster`,
  }),
  RegionUnknown: defineReason<{ readonly cluster: string }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ cluster }) =>
      `spec.eksCluster has no region for EKS cluster ${quoted(cluster)}, and the controller does not know its own AWS region, which is the default`,
    remedy: () =>
      `If the EKS cluster is in the region of the manager, set AWS_REGION of the manager to this region: the controller then continues on its own. Otherwise delete this object and create it with spec.eksCluster.region, because this field cannot be changed`,
  }),
  TargetChanged: defineReason<{
    readonly field: string;
    readonly recorded: string;
    readonly found: string;
    /** The field is in the AWSFargateProfile, and not in the control plane. */
    readonly isOfObject?: true;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ field, recorded, found, isOfObject }) =>
      `${field} of ${isOfObject ? 'this object' : 'the control plane'} is now ${quoted(found)}, but this object records ${quoted(recorded)} for its Fargate profile. The controller changes nothing in AWS`,
    remedy: ({ field, recorded, isOfObject }) =>
      isOfObject
        ? `${REPLACE_OBJECT}: unless spec.deletionPolicy is Retain, the controller then deletes the profile of this object where it was created. Or, to leave the profile as it is, remove the annotation ${RECORD_ANNOTATION} from this object. ${CONTINUES}`
        : `Set ${field} of the control plane back to ${quoted(recorded)}. Or delete this object: unless spec.deletionPolicy is Retain, the controller then deletes the profile where it was created. Or, to leave the profile as it is, remove the annotation ${RECORD_ANNOTATION} from this object. ${CONTINUES}`,
  }),
  /** `missing` is a clause. `role` is the role that the controller may have created. */
  TargetUnknown: defineReason<{
    readonly missing: string;
    readonly provisionedIn: string | undefined;
    readonly profile: string;
    readonly role: string | undefined;
    readonly remedy: string;
    readonly abandonment: Abandonment;
  }>({
    nature: 'human',
    poll: pollRarely,
    describe: ({ missing, provisionedIn, profile }) =>
      provisionedIn === undefined
        ? `this object is being deleted, but the controller does not know in which AWS account and region its Fargate profile ${quoted(profile)} is: the annotation ${RECORD_ANNOTATION} does not name them, and ${missing}`
        : `this object is being deleted, and records ${provisionedIn} (account/region/EKS cluster) as the place of its Fargate profile ${quoted(profile)}. The controller does not know with which AWS credentials to delete the profile, because ${missing}`,
    remedy: ({ remedy, profile, role, abandonment }) => {
      const ownRole = role === undefined ? '' : `, and IAM role ${quoted(role)} if the controller created it,`;
      return [
        remedy,
        CONTINUES,
        abandonment === 'retain'
          ? `Or delete Fargate profile ${quoted(profile)} in AWS${ownRole} and set spec.deletionPolicy to Retain: then the deletion of this object ends, and the controller changes nothing in AWS`
          : describeAbandonment(abandonment, `, if AWS has Fargate profile ${quoted(profile)} no longer,`),
      ].join('. ');
    },
  }),
} as const;
