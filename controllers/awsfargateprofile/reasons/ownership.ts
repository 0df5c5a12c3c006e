import type { Abandonment } from './abandonment.ts';
import { describeAbandonment } from './abandonment.ts';
import type { ConditionPart } from './entry.ts';
import { CONTINUES, defineReason, listed, pollForUserAction, quoted } from './entry.ts';

/** Condition reasons about tags that name the owner of an AWS resource. */
export const OWNERSHIP_REASONS = {
  /**
   * `abandonment` is how a user can end the deletion of the object without the tag; undefined if the object is not
   * being deleted.
   */
  OwnershipTagMissing: defineReason<{
    readonly resource: 'Fargate profile' | 'IAM role';
    readonly name: string;
    readonly tags: readonly { readonly key: string; readonly value: string }[];
    readonly abandonment?: Abandonment | undefined;
    readonly about: ConditionPart;
  }>({
    nature: 'human',
    keepsReady: true,
    poll: pollForUserAction,
    describe: ({ resource, name, tags }) =>
      `${resource} ${quoted(name)} lacks the ${tags.length === 1 ? 'tag' : 'tags'} ${listed(tags.map(({ key }) => key))}, so the controller does not change or delete it`,
    remedy: ({ resource, tags, abandonment }) =>
      [
        `If the ${resource} belongs to this object, tag it with ${listed(tags.map(({ key, value }) => `${key}=${value}`))}`,
        ...(abandonment === undefined ? [] : [`Or delete the ${resource} in AWS`, describeAbandonment(abandonment)]),
        CONTINUES,
      ].join('. '),
  }),
} as const;
