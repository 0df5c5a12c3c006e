import { toPrintableLine } from '../../../../pkg/env/printable.ts';
import { findProfile } from '../../decide/compare.ts';
import type { CompletedPass } from '../../model/pass.ts';
import { describeIssues } from '../../reasons/reasons.ts';

/**
 * Returns a text about the health issues of the Fargate profile that the spec asks for; `undefined` if EKS reports
 * none.
 */
export function describeHealthIssues({
  desired,
  observed,
}: Pick<CompletedPass, 'desired' | 'observed'>): string | undefined {
  const name = desired?.wanted?.profile.name;
  const issues =
    name === undefined || observed === undefined ? undefined : findProfile(observed.profiles, name)?.health;
  if (issues === undefined || issues.length === 0) return undefined;
  const said = describeIssues(issues).replace(/\.$/, '');
  return toPrintableLine(
    `EKS reports health issues of Fargate profile "${name}". ${said}. Correct the problem that EKS names, because new pods may fail to start.`,
  );
}
