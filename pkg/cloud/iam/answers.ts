import { RoleArn, RoleName } from '../../../api/names.ts';
import * as s from '../../../api/schema/field.ts';
import type { Page } from '../paging.ts';
import type { Role } from '../types.ts';

const RawRole = s.object({
  RoleName: s.text(RoleName),
  Arn: s.text(RoleArn),
  RoleId: s.string(),
  Path: s.string(),
  AssumeRolePolicyDocument: s.optional(s.string()),
  PermissionsBoundary: s.optional(s.object({ PermissionsBoundaryArn: s.optionalText(s.string()) })),
  Tags: s.optional(s.list(s.object({ Key: s.string(), Value: s.string() }))),
});

export const RoleAnswer = s.view(s.object({ Role: RawRole }), ({ Role: raw }): Role => {
  const boundary = raw.PermissionsBoundary?.PermissionsBoundaryArn;
  return {
    name: raw.RoleName,
    arn: raw.Arn,
    id: raw.RoleId,
    path: raw.Path,
    trust: percentDecoded(raw.AssumeRolePolicyDocument ?? ''),
    ...(boundary === undefined ? {} : { permissionsBoundary: boundary }),
    tags: Object.fromEntries((raw.Tags ?? []).map(({ Key, Value }) => [Key, Value])),
  };
});

const marker = { IsTruncated: s.optional(s.boolean()), Marker: s.optionalText(s.string()) };
const next = (page: { readonly IsTruncated?: boolean; readonly Marker?: string }): string | undefined =>
  page.IsTruncated === true ? (page.Marker ?? '') : undefined;

export const AttachedPoliciesAnswer = s.view(
  s.object({ ...marker, AttachedPolicies: s.list(s.object({ PolicyArn: s.string() })) }),
  (page): Page<string> => ({ items: page.AttachedPolicies.map(({ PolicyArn }) => PolicyArn), next: next(page) }),
);

export const InlinePoliciesAnswer = s.view(
  s.object({ ...marker, PolicyNames: s.list(s.string()) }),
  (page): Page<string> => ({ items: page.PolicyNames, next: next(page) }),
);

export const InstanceProfilesAnswer = s.view(
  s.object({ ...marker, InstanceProfiles: s.list(s.object({ InstanceProfileName: s.string() })) }),
  (page): Page<string> => ({
    items: page.InstanceProfiles.map(({ InstanceProfileName }) => InstanceProfileName),
    next: next(page),
  }),
);

/** IAM encodes policy documents as RFC 3986 has it: a plus sign is a plus sign. What is not so encoded stays as it is. */
function percentDecoded(document: string): string {
  try {
    return decodeURIComponent(document);
  } catch {
    return document;
  }
}
