import type { ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { isNamedAfter, profileNameFor, roleNameFor } from '../../pkg/fargate/names.ts';
import { type Note, currentEntry, noteOf } from './note.ts';
import { isReplaceable } from './object-state.ts';

/** spec.profileName, or the computed name. */
export function profileNameOf({ spec, metadata }: AWSFargateProfile): ProfileName {
  return spec.profileName ?? profileNameFor(metadata);
}

/**
 * The name from which the names of the role and of replacements derive. A client that removes spec.profileName under
 * updateStrategy Reject does not lose the profile, because EKS cannot rename it: the noted name then counts.
 */
export function baseNameOf(object: AWSFargateProfile, note: Note = noteOf(object)): ProfileName {
  const computed = profileNameOf(object);
  if (object.spec.profileName !== undefined || isReplaceable(object)) return computed;
  const noted = currentEntry(note.profiles)?.name;
  return noted === undefined || isNamedAfter(noted, computed) ? computed : noted;
}

/** The name of the profile that the object has, as far as the note tells: the base name, or that of a replacement. */
export function currentProfileNameOf(object: AWSFargateProfile): ProfileName {
  const note = noteOf(object);
  const base = baseNameOf(object, note);
  const noted = note.profiles.filter(({ name }) => isNamedAfter(name, base));
  return currentEntry(noted)?.name ?? base;
}

/**
 * spec.roleName, or the computed name. `undefined` with spec.roleARN, and if neither spec nor note names a cluster:
 * under another provider's CRD, the API server may have dropped both fields.
 */
export function roleNameOf(object: AWSFargateProfile): RoleName | undefined {
  const { roleARN, roleName, clusterName, eksCluster } = object.spec;
  if (roleARN !== undefined) return undefined;
  const note = noteOf(object);
  const cluster = clusterName ?? eksCluster?.name ?? (note.in.kind === 'known' ? note.in.eksCluster : undefined);
  return roleName ?? (cluster && roleNameFor(cluster, baseNameOf(object, note)));
}
