import { EksClusterName, ProfileName, RoleArn } from '../../../api/names.ts';
import * as s from '../../../api/schema/field.ts';
import type { Page } from '../paging.ts';
import type { EksCluster, FargateProfile } from '../types.ts';

const RawProfile = s.object({
  fargateProfileName: s.text(ProfileName),
  fargateProfileArn: s.string(),
  clusterName: s.text(EksClusterName),
  status: s.string(),
  podExecutionRoleArn: s.text(RoleArn),
  subnets: s.optional(s.list(s.string())),
  selectors: s.optional(s.list(s.object({ namespace: s.optional(s.string()), labels: s.optional(s.map(s.string())) }))),
  tags: s.optional(s.map(s.string())),
  health: s.optional(
    s.object({
      issues: s.optional(
        s.list(
          s.object({
            code: s.optional(s.string()),
            message: s.optional(s.string()),
            resourceIds: s.optional(s.list(s.string())),
          }),
        ),
      ),
    }),
  ),
});

/** The answer of CreateFargateProfile, DescribeFargateProfile and DeleteFargateProfile. */
export const ProfileAnswer = s.view(
  s.object({ fargateProfile: RawProfile }),
  ({ fargateProfile: raw }): FargateProfile => ({
    name: raw.fargateProfileName,
    arn: raw.fargateProfileArn,
    cluster: raw.clusterName,
    status: raw.status,
    podExecutionRoleArn: raw.podExecutionRoleArn,
    subnets: raw.subnets ?? [],
    selectors: (raw.selectors ?? []).map(({ namespace = '', labels = {} }) => ({ namespace, labels })),
    tags: raw.tags ?? {},
    health: (raw.health?.issues ?? []).map(({ code = '', message = '', resourceIds = [] }) => ({
      code,
      message,
      resourceIds,
    })),
  }),
);

export const ProfilesAnswer = s.view(
  s.object({ fargateProfileNames: s.list(s.text(ProfileName)), nextToken: s.optionalText(s.string()) }),
  ({ fargateProfileNames, nextToken }): Page<ProfileName> => ({ items: fargateProfileNames, next: nextToken }),
);

export const ClusterAnswer = s.view(
  s.object({
    cluster: s.object({
      name: s.text(EksClusterName),
      arn: s.string(),
      status: s.string(),
      accessConfig: s.optional(s.object({ authenticationMode: s.optionalText(s.string()) })),
    }),
  }),
  ({ cluster: { name, arn, status, accessConfig } }): EksCluster => ({
    name,
    arn,
    status,
    ...(accessConfig?.authenticationMode === undefined ? {} : { authenticationMode: accessConfig.authenticationMode }),
  }),
);
