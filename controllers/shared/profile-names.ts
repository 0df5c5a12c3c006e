import type { ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { isNamedAfter, profileNameFor, roleNameFor } from '../../pkg/fargate/names.ts';
import { type Note, currentEntry, noteOf } from './note.ts';
import { isReplaceable } from './object-state.ts';

/** Returns spec.profileName, or the computed name. */
export function profileNameOf({ spec, metadata }: AWSFargateProfile): ProfileName {
  return spec.profileName ?? profileNameFor(metadata);
}

/**
 * Returns the name from which the names of the role and of replacements derive. If a client removes spec.profileName
 * under updateStrategy Reject, the name in the note counts, because EKS cannot rename the profile.
 */
export function baseNameOf(object: AWSFargateProfile, note: Note = noteOf(object)): ProfileName {
  const computed = profileNameOf(object);
  if (object.spec.profileName !== undefined || isReplaceable(object)) return computed;
  const noted = currentEntry(note.profiles)?.name;
  return noted === undefined || isNamedAfter(noted, computed) ? computed : noted;
}

/** Returns the name of the object's current profile by the note: the base name, or a replacement's name. */
export function currentProfileNameOf(object: AWSFargateProfile): ProfileName {
  const note = noteOf(object);
  const base = baseNameOf(object, note);
  const noted = note.profiles.filter(({ name }) => isNamedAfter(name, base));
  return currentEntry(noted)?.name ?? base;
}

/**
 * Returns spec.roleName, or the computed name. Returns `undefined` with spec.roleARN, and if neither spec nor note
 * contains a cluster: under another provider's CRD, the API server may have dropped the fields.
 */
export function roleNameOf(object: AWSFargateProfile): RoleName | undefined {
  const { roleARN, roleName, clusterName, eksCluster } = object.spec;
  if (roleARN !== undefined) return undefined;
  const note = noteOf(object);
  const cluster = clusterName ?? eksCluster?.name ?? (note.in.kind === 'known' ? note.in.eksCluster : undefined);
  return roleName ?? (cluster && roleNameFor(cluster, baseNameOf(object, note)));
}
