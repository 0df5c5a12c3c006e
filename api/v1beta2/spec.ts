import { ClusterName, ProfileName, RoleArn, RoleName } from '../names.ts';
import { list, map, object, oneOf, optional, optionalText, string, text } from '../schema/field.ts';
import type { TypeOf } from '../schema/field.ts';

export const Selector = object(
  {
    namespace: optional(string({ description: 'The Kubernetes namespace of the pods.' })),
    labels: optional(map(string(), { description: 'The labels that a pod must carry, all of them.' })),
  },
  { description: 'Selects pods by namespace and labels.' },
);
export interface Selector extends TypeOf<typeof Selector> {}

export const UpdateStrategyType = oneOf(['Reject'], { description: '', default: 'Reject' });
export type UpdateStrategyType = TypeOf<typeof UpdateStrategyType>;

export const UpdateStrategy = object({ type: optional(UpdateStrategyType) }, { description: '' });
export interface UpdateStrategy extends TypeOf<typeof UpdateStrategy> {}

export const DeletionPolicy = oneOf(['Delete', 'Retain'], { description: '' });
export type DeletionPolicy = TypeOf<typeof DeletionPolicy>;

export const AdoptionPolicy = oneOf(['Owned', 'Always', 'Never'], { description: '', default: 'Owned' });
export type AdoptionPolicy = TypeOf<typeof AdoptionPolicy>;

export const AWSFargateProfileSpec = object(
  {
    clusterName: text(ClusterName, { description: '' }),
    profileName: optionalText(text(ProfileName, { description: '' })),
    selectors: optional(list(Selector, { description: '' })),
    subnetIDs: optional(list(string(), { description: '' })),
    additionalTags: optional(map(string(), { description: '' })),
    roleARN: optionalText(text(RoleArn, { description: '' })),
    roleName: optionalText(text(RoleName, { description: '' })),
    rolePath: optionalText(string({ description: '' })),
    rolePermissionsBoundary: optionalText(string({ description: '' })),
    roleAdditionalPolicies: optional(list(string(), { description: '' })),
    updateStrategy: optional(UpdateStrategy),
    deletionPolicy: optional(DeletionPolicy),
    adoptionPolicy: optional(AdoptionPolicy),
  },
  { description: '' },
);
export interface AWSFargateProfileSpec extends TypeOf<typeof AWSFargateProfileSpec> {}
