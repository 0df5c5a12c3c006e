import type { AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { Why } from '../reasons.ts';
import type { Life } from './life.ts';
import {
  SHARED_ROLE_OF_CAPA,
  equalsSpec,
  isAdoptable,
  isOurProfile,
  isOurRole,
  letsFargateIn,
  profileNameIn,
  roleIn,
} from './oracle.ts';
import { roleArnOf } from './simulated-aws.ts';
import { PRIVATE_SUBNETS } from './worlds.ts';

/** Those of the control plane, or those that a provisioned profile was given. */
export const subnetsGiven = ({ initialization, subnets = [] }: AWSFargateProfileStatus): readonly string[] =>
  initialization?.provisioned === true && subnets.length > 0 ? subnets : PRIVATE_SUBNETS;
/** What a life ends with. */
export const subnetsOf = ({ status }: Life): readonly string[] => subnetsGiven(status);

/** Whether what a life ended with is really so. */
export function holds({ reason, facts }: Why, life: Life): boolean {
  const { spec, aws, mode, status, noCreation, usedElsewhere } = life;
  const subnets = subnetsOf(life);
  const profile = aws.profiles.get(profileNameIn(spec));
  const wanted = roleIn(spec, aws);
  const role = aws.roles.get(wanted.name.toLowerCase());
  const isForeignRole = role !== undefined && (spec.roleARN !== undefined || !isOurRole(role, spec));
  switch (reason) {
    case 'EKSClusterNotFound':
      return mode === 'live' && aws.cluster === 'gone';
    case 'AccountUncertain':
      return (
        mode === 'delete' && aws.cluster === 'gone' && life.judgements.at(-1)?.desired.records.whereabouts === 'unknown'
      );
    case 'ProfileNotOwned':
      return profile !== undefined && !isOurProfile(profile, spec) && !isAdoptable(profile, spec, subnets, aws);
    case 'SpecDiffers':
      return profile !== undefined && profile.status === 'ACTIVE' && !equalsSpec(profile, spec, subnets, aws);
    case 'RoleNotOwned':
      return isForeignRole && spec.roleName === undefined && spec.roleARN === undefined;
    case 'RoleNotFound':
      return spec.roleARN === undefined
        ? role === undefined &&
            (wanted.name === SHARED_ROLE_OF_CAPA ||
              (status.role?.managed === false && status.role.name === wanted.name))
        : role === undefined || roleArnOf(role) !== spec.roleARN;
    case 'RoleTrustInvalid':
      return isForeignRole && !letsFargateIn(role.trust);
    case 'RoleSettingsConflict':
      // It is ours, and would be made anew at its path; who else uses it keeps it where it is.
      return (
        role !== undefined &&
        role.path !== wanted.path &&
        (usedElsewhere.includes(wanted.name.toLowerCase()) ||
          [...aws.profiles.values()].some(
            (each) => each.podExecutionRoleArn === roleArnOf(role) && !isOurProfile(each, spec),
          ))
      );
    case 'RoleBlocked':
      return [...aws.roles.values()].some((each) => isOurRole(each, spec) && each.inline.length > 0);
    case 'RoleRecreated':
      return role !== undefined && status.role?.id !== role.id && aws.authenticationMode !== 'CONFIG_MAP';
    case 'UnknownProfileStatus':
      return [...aws.profiles.values()].some((each) => each.status === 'PAUSED_BY_EKS' && isOurProfile(each, spec));
    case 'RetainBlocksClusterDeletion':
      return mode === 'retain' && [...aws.profiles.values()].some((each) => isOurProfile(each, spec));
    case 'WaitingForEKSControlPlane':
      return noCreation && mode === 'live' && (profile === undefined || role === undefined);
    default:
      throw new Error(`nobody expects ${reason} at the end of a life: ${JSON.stringify(facts)}`);
  }
}
