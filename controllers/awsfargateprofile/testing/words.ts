import type { Decision, Mutation } from '../model.ts';
import type { Verdict } from '../preflight.ts';

/** A decision in a few words, as a table has them. */
export const wordOf = (decision: Decision): string =>
  decision.kind === 'do'
    ? what(decision.mutation)
    : decision.kind === 'stop'
      ? `stop: ${decision.why.reason}`
      : decision.kind;

function what(mutation: Mutation): string {
  switch (mutation.kind) {
    case 'createProfile':
      return `create profile ${mutation.profile.name} with ${mutation.profile.podExecutionRoleArn.slice(-7)}`;
    case 'deleteProfile':
      return `delete profile ${mutation.name}, ${mutation.because}`;
    case 'tagProfile':
      return `tag profile with ${Object.keys(mutation.tags).join()}`;
    case 'untagProfile':
      return `untag profile of ${mutation.keys.join()}`;
    case 'createRole':
      return `create role ${mutation.role.path}${mutation.role.name}`;
    case 'deleteRole':
      return `delete role ${mutation.name}`;
    case 'tagRole':
      return `tag role with ${Object.keys(mutation.tags).join()}`;
    case 'untagRole':
      return `untag role of ${mutation.keys.join()}`;
    case 'setBoundary':
    case 'attachPolicy':
      return `${mutation.kind} ${mutation.policyArn.split('/').at(-1)}`;
    case 'detachPolicy':
      return `detachPolicy ${mutation.policyArn.split('/').at(-1)}${mutation.retiring ? ', retiring' : ''}`;
    case 'setTrust':
    case 'removeBoundary':
      return mutation.kind;
  }
}

/** A guard's verdict in a few words. */
export const verdictWord = (verdict: Verdict): string => {
  switch (verdict.kind) {
    case 'go':
      return 'go';
    case 'stop':
      return `stop: ${verdict.why.reason}`;
    case 'keep':
      return `keep ${verdict.role}: ${verdict.by}`;
    case 'conflict':
      return verdict.kind;
    case 'quit':
      return `quit: ${verdict.because}`;
  }
};
