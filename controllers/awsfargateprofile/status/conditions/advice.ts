import { toPrintableLine } from '../../../../pkg/env/printable.ts';
import { findProfile } from '../../decide/compare.ts';
import { findRolePathProblem } from '../../decide/role-path.ts';
import type { AwsFacts, CompletedPass } from '../../model/pass.ts';
import { describeIssues, messageOf } from '../../reasons/reasons.ts';

/** A problem of a profile that is as the spec asks for. `Ready` stays True and shows `message`. */
interface Advice {
  readonly event: string;
  readonly message: string;
}

export const adviceAfter = ({ end, facts }: CompletedPass): readonly Advice[] =>
  end === 'inOrder' && facts !== undefined ? [...healthAdvice(facts), ...rolePathAdvice(facts)] : [];

function healthAdvice({ desired, observed }: AwsFacts): readonly Advice[] {
  const name = desired.wanted?.profile.name;
  const issues = name === undefined ? undefined : findProfile(observed.profiles, name)?.health;
  if (issues === undefined || issues.length === 0) return [];
  const said = describeIssues(issues).replace(/\.$/, '');
  const message = toPrintableLine(
    `EKS reports health issues of Fargate profile "${name}". ${said}. Correct the problem that EKS names, because new pods may fail to start.`,
  );
  return [{ event: 'UnhealthyEKSFargateProfile', message }];
}

function rolePathAdvice({ desired, observed }: AwsFacts): readonly Advice[] {
  const reason = findRolePathProblem(desired, observed, { isLive: true });
  return reason === undefined ? [] : [{ event: reason.name, message: messageOf(reason) }];
}
