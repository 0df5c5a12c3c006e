import { ProfileName, RoleName } from '../../../api/names.ts';
import { type AWSFargateProfile, type ReplacementProfile, REPLACEMENT_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { cut } from '../../../api/text.ts';
import { findProfileNameProblem, findRoleNameProblem } from '../../../pkg/fargate/names.ts';

/** EKS allows ten profiles in a cluster. */
const MOST_PROFILES = 20;
/** In characters: the names of twenty profiles and roles fit in. */
const MOST_TEXT = 4_000;

/** From status, or from the annotation if `clusterctl move` has dropped status. The record proves no ownership. */
export function recordedReplacement({ metadata, status = {} }: AWSFargateProfile): readonly ReplacementProfile[] {
  const inStatus = [...(status.successor === undefined ? [] : [status.successor]), ...(status.predecessors ?? [])];
  const all = status.account === undefined ? parse(metadata.annotations?.[REPLACEMENT_ANNOTATION]) : inStatus;
  return all
    .filter(({ name }) => name !== undefined && findProfileNameProblem(name) === undefined)
    .slice(0, MOST_PROFILES);
}

/**
 * The profile of a replacement that was requested and that no pass has seen. It is recorded among the predecessors when
 * the object is deleted, or when the spec does not ask for it any more.
 */
export const unseenReplacement = ({
  status: { successor, predecessors = [] } = {},
}: AWSFargateProfile): ReplacementProfile | undefined =>
  [successor, ...predecessors].find((each) => each !== undefined && each.arn === undefined);

/** The name in the last create request; undefined: status records no name. */
export const requestedNameOf = (object: AWSFargateProfile): ProfileName | undefined =>
  unseenReplacement(object)?.name ?? object.status?.successor?.name ?? object.status?.profileName;

/** `<profile>/<role>`, separated by spaces. */
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
