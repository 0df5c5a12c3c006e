import { AWS } from './aws.ts';
import { BEFORE_AWS } from './before-aws.ts';
import { BESIDE_CAPA } from './beside-capa.ts';
import { CREDENTIALS } from './credentials.ts';
import { DELETION } from './deletion.ts';
import { EKS_CLUSTERS } from './eks-cluster.ts';
import { LIMITS } from './limits.ts';
import type { Phase, Phases } from './phase.ts';
import { PROFILES } from './profile.ts';
import { ROLES } from './role.ts';
import { USUAL } from './usual.ts';

const phasesOf = (group: Phases): readonly Phase[] =>
  Object.entries(group).map(([name, phase]) => ({ name, ...phase }));

/**
 * The situations of an AWSFargateProfile that the tests compare with golden files, by the title of their group. The
 * usual objects come first, because the other golden files contain only differences from theirs. So UPDATE_GOLDEN=1
 * writes the golden files of the usual objects first.
 */
export const PHASE_GROUPS: Readonly<Record<string, readonly Phase[]>> = {
  'the usual life': phasesOf(USUAL),
  'before the first AWS call': phasesOf(BEFORE_AWS),
  'without usable credentials': phasesOf(CREDENTIALS),
  'after an AWS error': phasesOf(AWS),
  'the role': phasesOf(ROLES),
  "the operator's limits": phasesOf(LIMITS),
  'an EKS cluster without a Cluster': phasesOf(EKS_CLUSTERS),
  'the profile': phasesOf(PROFILES),
  'the deletion': phasesOf(DELETION),
  'beside Cluster API Provider AWS, with --manage-crd': phasesOf(BESIDE_CAPA),
};

export const PHASES: readonly Phase[] = Object.values(PHASE_GROUPS).flat();
