import {
  type Nature,
  type Reason,
  REASONS,
  messageOf,
  natureOf,
  conditionTypeOf,
  newReason,
} from '../controllers/awsfargateprofile/reasons/reasons.ts';
import { type ReportedFacts, REASON_EXAMPLES } from '../controllers/awsfargateprofile/testing/reason-examples.ts';

const NATURES: Readonly<Record<Nature, string>> = {
  wait: 'waits',
  retry: 'retries',
  outage: 'retries',
  human: '**needs you to act**',
};

type ReportedName = keyof ReportedFacts;
const isReason = (text: string): text is ReportedName => text in REASONS;
const ALL_EXAMPLES: { readonly [R in ReportedName]: Reason<R>['facts'] } = REASON_EXAMPLES;
const example = (reason: ReportedName): Reason => newReason<ReportedName>(reason, ALL_EXAMPLES[reason]);
const plain = (text: string): string => text.replaceAll('*', '\\*').replaceAll('<', '&lt;');

/** Returns the Markdown section of a reason, to which runbooks can link. */
const section = (reason: ReportedName): string => {
  const shown: Reason = example(reason);
  const conditionType = conditionTypeOf(shown);
  const about = conditionType === undefined ? '' : ` Related condition: \`${conditionType}\`.`;
  return `### ${reason}\n\nThe controller ${NATURES[natureOf(shown)]}.${about}\n\n> ${plain(messageOf(shown))}\n`;
};

/** Returns the sections of all reasons in docs/conditions.md. */
export const reasonSections = (): string => Object.keys(REASONS).filter(isReason).map(section).join('\n');
