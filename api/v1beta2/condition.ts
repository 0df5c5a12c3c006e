import { integer, object, oneOf, optional, string } from '../schema/field.ts';
import type { TypeOf } from '../schema/field.ts';
import { MAX_MESSAGE } from '../text.ts';

export const ConditionStatus = oneOf(['True', 'False', 'Unknown'], {
  description: 'Whether the condition holds: True, False or Unknown.',
});
export type ConditionStatus = TypeOf<typeof ConditionStatus>;

export const Condition = object(
  {
    type: string({ description: 'The type of the condition, in CamelCase.', minLength: 1, maxLength: 316 }),
    status: ConditionStatus,
    observedGeneration: optional(
      integer({
        description: 'The metadata.generation for which the condition was written.',
        format: 'int64',
        minimum: 0,
      }),
    ),
    lastTransitionTime: string({
      description: 'The time at which the status last changed.',
      format: 'date-time',
    }),
    reason: optional(
      string({
        description: 'The reason for the status: one word in CamelCase that programs can rely on.',
        maxLength: 1024,
      }),
    ),
    message: optional(
      string({ description: 'What is wrong with which object, and what you can do.', maxLength: MAX_MESSAGE }),
    ),
    severity: optional(
      string({
        description:
          'The severity of a status of False. Not set by this controller; conditions of Cluster API Provider AWS can have it.',
        maxLength: 32,
      }),
    ),
  },
  {
    description: 'One aspect of the state of the object.',
    required: ['lastTransitionTime', 'status', 'type'],
  },
);
export interface Condition extends TypeOf<typeof Condition> {}
