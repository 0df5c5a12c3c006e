import { RoleArn, RoleName } from '../../../api/names.ts';
import * as s from 'controller-runtime/schema';
import { type Page, Time } from '../call/responses.ts';
import type { Role } from './iam-api.ts';

const RawRole = s.object({
  RoleName: s.text(RoleName),
  Arn: s.text(RoleArn),
  RoleId: s.string(),
  Path: s.string(),
  CreateDate: Time,
  AssumeRolePolicyDocument: s.optional(s.string()),
  PermissionsBoundary: s.optional(s.object({ PermissionsBoundaryArn: s.optionalText(s.string()) })),
  Tags: s.optional(s.list(s.object({ Key: s.string(), Value: s.string() }))),
});

export const RoleResponse = s.view(s.object({ Role: RawRole }), ({ Role: raw }): Role => {
  const boundary = raw.PermissionsBoundary?.PermissionsBoundaryArn;
  return {
    name: raw.RoleName,
    arn: raw.Arn,
    id: raw.RoleId,
    createdAt: raw.CreateDate,
    path: raw.Path,
    trust: percentDecoded(raw.AssumeRolePolicyDocument ?? ''),
    ...(boundary !== undefined && { permissionsBoundary: boundary }),
    tags: Object.fromEntries((raw.Tags ?? []).map(({ Key, Value }) => [Key, Value])),
  };
});

const MARKER_FIELDS = { IsTruncated: s.optional(s.boolean()), Marker: s.optionalText(s.string()) };
const nextMarker = (page: { readonly IsTruncated?: boolean; readonly Marker?: string }): string | undefined =>
  page.IsTruncated === true ? (page.Marker ?? '') : undefined;

export const AttachedPoliciesResponse = s.view(
  s.object({ ...MARKER_FIELDS, AttachedPolicies: s.list(s.object({ PolicyArn: s.string() })) }),
  (page): Page<string> => ({ items: page.AttachedPolicies.map(({ PolicyArn }) => PolicyArn), next: nextMarker(page) }),
);

export const InlinePoliciesResponse = s.view(
  s.object({ ...MARKER_FIELDS, PolicyNames: s.list(s.string()) }),
  (page): Page<string> => ({ items: page.PolicyNames, next: nextMarker(page) }),
);

export const InstanceProfilesResponse = s.view(
  s.object({ ...MARKER_FIELDS, InstanceProfiles: s.list(s.object({ InstanceProfileName: s.string() })) }),
  (page): Page<string> => ({
    items: page.InstanceProfiles.map(({ InstanceProfileName }) => InstanceProfileName),
    next: nextMarker(page),
  }),
);

/** Decodes by RFC 3986, as IAM encodes, so a plus sign stays a plus sign. Returns an invalid encoding unchanged. */
function percentDecoded(document: string): string {
  try {
    return decodeURIComponent(document);
  } catch {
    return document;
  }
}
