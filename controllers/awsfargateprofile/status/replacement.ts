import type { AWSFargateProfileStatus, ReplacementProfile } from '../../../api/v1beta2/index.ts';
import type { ProfileName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { formatTimestamp } from '../../../pkg/env/timestamp.ts';
import { findProfile, findRole, ownershipOf } from '../decide/compare.ts';
import { oursOf } from '../decide/replacement.ts';
import { isOurUnwantedRole } from '../decide/remove.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import type { AwsFacts, CompletedPass } from '../model/pass.ts';
import { profileAfter, roleAfter } from './facts-after.ts';

type Record = Pick<AWSFargateProfileStatus, 'profileName' | 'successor' | 'predecessors' | 'activeSince'>;

export function replacementAfter(
  { execution }: Pick<CompletedPass, 'execution'>,
  { desired, observed }: Pick<AwsFacts, 'desired' | 'observed'>,
  { activeSince }: AWSFargateProfileStatus,
): Record {
  const { wanted, recorded } = desired;
  const steps = execution?.steps;
  // A profile of another owner may have the name. The ARN proves a profile that has lost its owner tag.
  const read = ({ name, arn }: Pick<Other, 'name' | 'arn'>): FargateProfile | undefined => {
    const found = profileAfter(findProfile(observed.profiles, name), name, steps);
    return found && (found.arn === arn || ownershipOf(desired, found).kind === 'ours') ? found : undefined;
  };
  const left = othersOf(desired, observed).filter((other) => {
    const isThere = read(other) !== undefined || (other.arn === undefined && recorded.isCreateUnconfirmed);
    const role = other.role && roleAfter(findRole(observed.roles, other.role), other.role, steps ?? []);
    const isKept = execution?.kept.some(({ name }) => name === other.role) === true;
    const isUnread = observed.roles.some(({ name, found }) => name === other.role && found === 'unread');
    return isThere || isUnread || (role && !isKept && isOurUnwantedRole(desired, role));
  });
  const predecessors = left.map((other) => entryOf(other, read(other)));
  const replaced = { ...(predecessors.length > 0 && { predecessors }) };
  if (wanted === undefined) return { ...replaced, ...(activeSince && { activeSince }) };
  const found = read(wanted.profile);
  const { name } = wanted.profile;
  if (found?.status === 'ACTIVE') {
    const time = recorded.activeSince?.name === name ? activeSince?.time : undefined;
    const since = { name, time: time ?? formatTimestamp(desired.now) };
    return { ...replaced, activeSince: since, ...(desired.isReplaceable && { profileName: name }) };
  }
  return { ...replaced, ...successorOf(desired, predecessors, found), ...(activeSince && { activeSince }) };
}

export function replacementAhead(desired: Desired, observed: Observed): Pick<Record, 'successor' | 'predecessors'> {
  const others = othersOf(desired, observed);
  const predecessors = others.length > 0 && { predecessors: others };
  const { wanted } = desired;
  const found = oursOf(desired, observed.profiles).find(({ name }) => name === wanted?.profile.name);
  return { ...predecessors, ...(found?.status !== 'ACTIVE' && successorOf(desired, others, found)) };
}

type Other = ReplacementProfile & { readonly name: ProfileName };

/** A profile with the wanted name and another role is one of them because of that role. */
function othersOf(desired: Desired, observed: Observed): readonly Other[] {
  const { wanted, isReplaceable, recorded } = desired;
  const ours = isReplaceable ? oursOf(desired, observed.profiles) : [];
  const found = ours.map(({ name, arn, status, podExecutionRoleArn }) => {
    const role = parseRoleArn(podExecutionRoleArn)?.name;
    return { name, arn, status, ...(role && { role }) };
  });
  const onRecord = recorded.replacement.flatMap(({ name, ...rest }) =>
    name === undefined || found.some((each) => each.name === name) ? [] : [{ ...rest, name }],
  );
  return [...found, ...onRecord]
    .filter(
      ({ name, role }) => name !== wanted?.profile.name || !isSameRoleName(role ?? wanted.role.name, wanted.role.name),
    )
    .map(({ role, ...other }) => {
      // A role is recorded because it has to be deleted.
      const seen = role && findRole(observed.roles, role);
      return role === undefined || (seen && !isOurUnwantedRole(desired, seen)) ? other : { ...other, role };
    });
}

function entryOf({ name, arn, role }: ReplacementProfile, found: FargateProfile | undefined): ReplacementProfile {
  const seen = found === undefined ? arn : found.arn;
  return {
    ...(name && { name }),
    ...(seen && { arn: seen }),
    ...(found && { status: found.status }),
    ...(role && { role }),
  };
}

function successorOf(
  { wanted, isReplaceable, recorded }: Desired,
  predecessors: readonly ReplacementProfile[],
  found: FargateProfile | undefined,
): Pick<Record, 'successor'> {
  if (wanted === undefined || !isReplaceable) return {};
  const { name } = wanted.profile;
  const isOther = recorded.profileName === undefined ? predecessors.length > 0 : recorded.profileName !== name;
  return isOther ? { successor: entryOf({ name, role: wanted.role.name }, found) } : {};
}
