import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';

/** For example `being created`; `undefined` if EKS is not changing the profile. */
export function describeTransit(status: string | undefined): string | undefined {
  if (status === 'CREATING') return 'being created';
  return status === 'DELETING' ? 'being deleted' : undefined;
}

/** The changes that EKS was making to the object's Fargate profiles, according to its status. */
export function changesInProgress({
  status = {},
}: Pick<AWSFargateProfile, 'status'>): readonly { readonly profile: string; readonly doing: string }[] {
  const { profileName, profileStatus, successor, predecessors = [] } = status;
  return [{ name: profileName, status: profileStatus }, successor ?? {}, ...predecessors].flatMap((each) => {
    const doing = describeTransit(each.status);
    return each.name === undefined || doing === undefined ? [] : [{ profile: each.name, doing }];
  });
}

export const isInTransit = (object: Pick<AWSFargateProfile, 'status'>): boolean =>
  describeTransit(object.status?.profileStatus) !== undefined || changesInProgress(object).length > 0;
