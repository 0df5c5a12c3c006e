import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { FoundRole } from '../model/observed-state.ts';
import type { Step } from '../model/outcome.ts';

// Status tells what AWS has answered to the changes of the pass itself, so that it is not one pass late.

export function profileAfter(
  found: FargateProfile | undefined,
  name: string,
  steps: readonly Step[] = [],
): FargateProfile | undefined {
  let after = found;
  for (const { mutation, outcome } of steps) {
    if (outcome.kind !== 'done' && outcome.kind !== 'gone') continue;
    if (mutation.kind === 'createProfile' && mutation.profile.name === name)
      after = (outcome.kind === 'done' ? outcome.profile : undefined) ?? {
        ...mutation.profile,
        arn: '',
        status: 'CREATING',
        health: [],
      };
    if (mutation.kind === 'deleteProfile' && mutation.name === name)
      after = outcome.kind === 'gone' ? undefined : after && { ...after, status: 'DELETING' };
  }
  return after;
}

export function roleAfter(found: FoundRole | undefined, name: string, steps: readonly Step[]): FoundRole | undefined {
  let after = found;
  for (const { mutation, outcome } of steps) {
    if (outcome.kind !== 'done') continue;
    if (mutation.kind === 'createRole' && isSame(mutation.role.name, name)) {
      after = outcome.role && { ...outcome.role, attached: [], blockers: [] };
      continue;
    }
    if (after === undefined || !('name' in mutation) || !isSame(mutation.name, name)) continue;
    after = roleWith(after, mutation);
  }
  return after;
}

function roleWith(role: FoundRole, mutation: Step['mutation']): FoundRole | undefined {
  switch (mutation.kind) {
    case 'deleteRole':
      return undefined;
    case 'attachPolicy':
      return { ...role, attached: [...role.attached, mutation.policyArn] };
    case 'detachPolicy':
      return { ...role, attached: role.attached.filter((arn) => arn !== mutation.policyArn) };
    case 'setBoundary':
      return { ...role, permissionsBoundary: mutation.policyArn };
    case 'removeBoundary': {
      const { permissionsBoundary: _removed, ...rest } = role;
      return rest;
    }
    default:
      return role;
  }
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
