import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName, ProfileName, RoleArn } from '../../../api/names.ts';
import * as s from 'controller-runtime/schema';
import type { Call } from '../call/call.ts';
import { type Page, Time } from '../call/responses.ts';
import { isClusterNotFound, isNotFound } from '../errors/error-codes.ts';
import type { EksCluster, FargateProfile, Missing } from './eks-api.ts';

/** Distinguishes whether the profile or access entry is missing, or its cluster. */
export async function findOrMissing<A>(call: Call<A>): Call<A | Missing> {
  const response = await call;
  if (E.isRight(response) || !isNotFound(response.left)) return response;
  return E.right({ kind: isClusterNotFound(response.left) ? 'clusterGone' : 'absent' });
}

const RawProfile = s.object({
  fargateProfileName: s.text(ProfileName),
  fargateProfileArn: s.string(),
  clusterName: s.text(EksClusterName),
  status: s.string(),
  podExecutionRoleArn: s.text(RoleArn),
  subnets: s.optional(s.list(s.string())),
  selectors: s.optional(s.list(s.object({ namespace: s.optional(s.string()), labels: s.optional(s.map(s.string())) }))),
  tags: s.optional(s.map(s.string())),
  createdAt: s.optional(Time),
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

/** For CreateFargateProfile and DescribeFargateProfile. */
export const ProfileResponse = s.view(
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
    ...(raw.createdAt !== undefined && { createdAt: raw.createdAt }),
    health: (raw.health?.issues ?? []).map(({ code = '', message = '', resourceIds = [] }) => ({
      code,
      message,
      resourceIds,
    })),
  }),
);

export const FoundProfile = s.view(ProfileResponse, (profile) => ({ kind: 'found' as const, profile }));

export const ProfilesResponse = s.view(
  s.object({ fargateProfileNames: s.list(s.text(ProfileName)), nextToken: s.optionalText(s.string()) }),
  ({ fargateProfileNames, nextToken }): Page<ProfileName> => ({ items: fargateProfileNames, next: nextToken }),
);

export const FoundEntry = s.view(
  s.object({ accessEntry: s.object({ type: s.string(), createdAt: Time }) }),
  ({ accessEntry: { type, createdAt } }) => ({ kind: 'found' as const, entry: { type, createdAt } }),
);

export const ClusterResponse = s.view(
  s.object({
    cluster: s.object({
      status: s.string(),
      accessConfig: s.optional(s.object({ authenticationMode: s.optionalText(s.string()) })),
      deletionProtection: s.optional(s.boolean()),
      endpoint: s.optionalText(s.string()),
      certificateAuthority: s.optional(s.object({ data: s.optionalText(s.string()) })),
      resourcesVpcConfig: s.optional(s.object({ clusterSecurityGroupId: s.optionalText(s.string()) })),
    }),
  }),
  ({
    cluster: { status, accessConfig, deletionProtection, endpoint, certificateAuthority, resourcesVpcConfig },
  }): EksCluster => ({
    status,
    ...(accessConfig?.authenticationMode !== undefined && { authenticationMode: accessConfig.authenticationMode }),
    ...(deletionProtection !== undefined && { deletionProtection }),
    ...(endpoint !== undefined && { endpoint }),
    ...(certificateAuthority?.data !== undefined && { certificateAuthority: certificateAuthority.data }),
    ...(resourcesVpcConfig?.clusterSecurityGroupId !== undefined && {
      securityGroup: resourcesVpcConfig.clusterSecurityGroupId,
    }),
  }),
);
