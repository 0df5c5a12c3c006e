import {
  boolean,
  decode,
  type Field,
  list,
  map,
  NamespacedMeta,
  object,
  optional,
  optionalText,
  string,
  text,
  view,
} from 'controller-runtime/schema';
import { EksClusterName } from '../names.ts';
import { IdentityReference } from './identity.ts';
import type { ObjectReference } from './cluster.ts';

export const CONTROL_PLANE_GROUP = 'controlplane.cluster.x-k8s.io';
export const CONTROL_PLANE_VERSION = 'v1beta2';
export const CONTROL_PLANE_KIND = 'AWSManagedControlPlane';
export const CONTROL_PLANE_PLURAL = 'awsmanagedcontrolplanes';

/** Whether the reference is to CAPA's control plane for EKS. Only EKS clusters have Fargate profiles. */
export const isAWSManagedControlPlane = ({ kind, group }: ObjectReference): boolean =>
  kind === CONTROL_PLANE_KIND && group === CONTROL_PLANE_GROUP;

export interface ControlPlaneSubnet {
  /** In a VPC that CAPA manages, `id` is a placeholder, and `resourceID` is the subnet's ID in AWS. */
  readonly id: string;
  readonly resourceID?: string;
  readonly isPublic: boolean;
  /** `availability-zone`, `local-zone`, or `wavelength-zone`. Undefined means `availability-zone`. */
  readonly zoneType?: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** Only the fields that this provider reads. The decoder turns an empty text field into undefined. */
export interface AWSManagedControlPlane {
  readonly metadata: NamespacedMeta;
  readonly eksClusterName?: EksClusterName;
  readonly region?: string;
  /** The manager calls AWS with this identity's credentials. If undefined, the manager uses its own credentials. */
  readonly identityRef?: IdentityReference;
  readonly additionalTags: Readonly<Record<string, string>>;
  readonly subnets: readonly ControlPlaneSubnet[];
  /** From `status.ready`. If true, the EKS cluster is ACTIVE or UPDATING. */
  readonly ready: boolean;
}

const RawSubnet = object({
  id: string({ wanted: 'the id of a subnet' }),
  resourceID: optionalText(string()),
  isPublic: optional(boolean()),
  zoneType: optionalText(string()),
  tags: optional(map(string())),
});

const RawControlPlane = object({
  metadata: NamespacedMeta,
  spec: optional(
    object({
      eksClusterName: optionalText(text(EksClusterName)),
      region: optionalText(string()),
      identityRef: optional(IdentityReference),
      additionalTags: optional(map(string())),
      network: optional(object({ subnets: optional(list(RawSubnet)) })),
    }),
  ),
  status: optional(object({ ready: optional(boolean()) })),
});

const AWSManagedControlPlane: Field<AWSManagedControlPlane> = view(
  RawControlPlane,
  ({ metadata, spec = {}, status = {} }): AWSManagedControlPlane => ({
    metadata,
    ...(spec.eksClusterName !== undefined && { eksClusterName: spec.eksClusterName }),
    ...(spec.region !== undefined && { region: spec.region }),
    ...(spec.identityRef !== undefined && { identityRef: spec.identityRef }),
    additionalTags: spec.additionalTags ?? {},
    subnets: (spec.network?.subnets ?? []).map(({ isPublic = false, tags = {}, ...subnet }) => ({
      ...subnet,
      isPublic,
      tags,
    })),
    ready: status.ready ?? false,
  }),
);

export const decodeAWSManagedControlPlane = (input: unknown) => decode(AWSManagedControlPlane, input);
