import { ProfileName, RoleName } from '../../../api/names.ts';
import { type AWSFargateProfile, type ReplacementProfile, REPLACEMENT_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { cut } from '../../../api/text.ts';
import { findProfileNameProblem, findRoleNameProblem } from '../../../pkg/fargate/names.ts';

/** The most profiles of a replacement that are read from a record. EKS allows ten profiles in a cluster. */
const MOST_PROFILES = 20;
/** The most characters of the annotation that are read: the names of twenty profiles and roles fit in. */
const MOST_TEXT = 4_000;

/**
 * The successor and the predecessors that status records, or the annotation if `clusterctl move` has dropped the status.
 * The record tells where to look, and nothing about ownership.
 */
export function recordedReplacement({ metadata, status = {} }: AWSFargateProfile): readonly ReplacementProfile[] {
  const inStatus = [...(status.successor === undefined ? [] : [status.successor]), ...(status.predecessors ?? [])];
  const all = status.account === undefined ? parse(metadata.annotations?.[REPLACEMENT_ANNOTATION]) : inStatus;
  return all
    .filter(({ name }) => name !== undefined && findProfileNameProblem(name) === undefined)
    .slice(0, MOST_PROFILES);
}

/** The value of the annotation for these profiles: `<profile>/<role>`, separated by spaces. */
export const formatReplacement = (profiles: readonly ReplacementProfile[]): string =>
  profiles.map(({ name, role = '' }) => `${name}/${role}`).join(' ');

const parse = (annotation = ''): readonly ReplacementProfile[] =>
  cut(annotation, MOST_TEXT)
    .split(' ')
    .map((each) => {
      const [name = '', role = ''] = each.split('/');
      const isRole = findRoleNameProblem(role) === undefined;
      return { name: ProfileName.of(name), ...(isRole && { role: RoleName.of(role) }) };
    });
