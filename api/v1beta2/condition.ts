import { integer, object, oneOf, optional, string } from '../schema/field.ts';
import type { TypeOf } from '../schema/field.ts';

export const ConditionStatus = oneOf(['True', 'False', 'Unknown'], {
  description: 'Whether the condition holds: True, False or Unknown.',
});
export type ConditionStatus = TypeOf<typeof ConditionStatus>;

export const Condition = object(
  {
    type: string({ description: 'What the condition is about, in CamelCase.', minLength: 1, maxLength: 316 }),
    status: ConditionStatus,
    observedGeneration: optional(
      integer({
        description: 'The metadata.generation that the condition speaks of.',
        format: 'int64',
        minimum: 0,
      }),
    ),
    lastTransitionTime: string({
      description: 'When the status last changed from one value to another.',
      format: 'date-time',
    }),
    reason: optional(
      string({ description: 'Why, as one word in CamelCase that programs can rely on.', maxLength: 1024 }),
    ),
    message: optional(string({ description: 'Why, and what can be done, in words for people.', maxLength: 32768 })),
    severity: optional(
      string({
        description:
          'How serious a status of False is. Left over from Cluster API Provider AWS, so that conditions it wrote stay ' +
          'valid; not set any more.',
        maxLength: 32,
      }),
    ),
  },
  {
    description: 'One observation of the state of the object.',
    required: ['lastTransitionTime', 'status', 'type'],
  },
);
export interface Condition extends TypeOf<typeof Condition> {}
