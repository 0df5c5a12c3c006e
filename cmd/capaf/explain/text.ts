import { styleText } from 'node:util';
import { toPrintableLine } from '../../../pkg/env/printable.ts';
import { describeSelectors } from '../../../pkg/fargate/selectors.ts';
import { alignColumns } from '../io.ts';
import type { ProfileVerdict, Verdict } from './decide.ts';
import type { Violation } from './fargate-limits.ts';
import type { Size } from './size.ts';

/** What the command tells, in the shape of `-o json`. */
export interface Explanation extends Verdict {
  readonly violations: readonly Violation[];
  /** `null` if the pod is larger than the largest size. */
  readonly size: Size | null;
  /** What could change the answer and was not seen, with the reason. */
  readonly unseen: readonly string[];
}

export const isFine = ({ taker, violations, traps }: Explanation): boolean =>
  taker !== null && violations.length === 0 && traps.length === 0;

export function formatExplanation(explanation: Explanation): string {
  const { summary, taker, profiles, violations, traps, size, unseen } = explanation;
  const refused = violations.length === 0 ? '' : ' Fargate cannot run it as it is.';
  const columns = (rows: readonly (readonly string[])[]) => alignColumns(rows.map((row) => row.map(toPrintableLine)));
  const rows = profiles.flatMap((profile) => rowsOf(profile, taker));
  const refusals = columns(violations.map(({ field, message }) => [field, message]));
  const sections = [
    [styleText('red', 'Fargate refuses:'), refusals],
    [styleText('yellow', 'Beware:'), traps.map(toPrintableLine)],
    [styleText('dim', 'Not seen:'), unseen.map(toPrintableLine)],
  ] as const;
  const color = isFine(explanation) ? 'green' : taker === null ? 'red' : 'yellow';
  const lines = [
    styleText(color, toPrintableLine(`${summary}${refused}`)),
    ...(size === null ? [] : [`Billed size on Fargate: ${size.vCPU} vCPU, ${size.memoryGB} GB`]),
    '',
    ...(rows.length === 0
      ? ['The EKS cluster has no Fargate profile.']
      : columns([['PROFILE', 'STATUS', 'SELECTOR', 'POD'], ...rows])),
    ...sections.flatMap(([title, each]) => (each.length === 0 ? [] : ['', title, ...each.map((line) => `  ${line}`)])),
  ];
  return `${lines.join('\n')}\n`;
}

function rowsOf({ name, status, selectors }: ProfileVerdict, taker: string | null): readonly (readonly string[])[] {
  if (selectors.length === 0) return [[name, status, 'none', 'does not match']];
  return selectors.map(({ matches, mismatch, ...selector }, index) => {
    const but =
      status !== 'ACTIVE' ? `, but is ${status}` : taker !== null && taker !== name ? `, but "${taker}" is chosen` : '';
    const told = matches ? `matches${but}` : (mismatch ?? '');
    return [...(index === 0 ? [name, status] : ['', '']), describeSelectors([selector]), told];
  });
}
