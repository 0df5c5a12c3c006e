import type { Context, Operations, Output } from '../context.ts';
import { iamErrors } from '../errors.ts';
import { policyExists } from './managed-policies.ts';
import { page } from './paging.ts';
import { roleForRead, roleForWrite, roleResource } from './role-lookup.ts';
import { POLICY_NAME_LIMIT, requiredName, requiredText } from './name-limits.ts';
import { changeRole } from './role-changes.ts';
import type { Input } from '../input.ts';
import { currentVersion } from './role-visibility.ts';

/** IAM's default quota (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html). */
const MAX_POLICIES = 10;

function requireArn(input: Input): string {
  const arn = requiredText(input, 'PolicyArn');
  if (!/^arn:[^:]+:iam::(aws|\d{12}):policy\/.+$/.test(arn)) throw iamErrors.validation(`ARN ${arn} is not valid.`);
  return arn;
}

function attach(input: Input, context: Context): Output {
  const role = roleForWrite(input, context);
  const arn = requireArn(input);
  if (!policyExists(arn, context)) {
    throw iamErrors.noSuchEntity(`Policy ${arn} does not exist or is not attachable.`);
  }
  const attached = currentVersion(role).attachedPolicies;
  if (attached.includes(arn)) return {};
  if (attached.length >= MAX_POLICIES) {
    throw iamErrors.limitExceeded(`Cannot exceed quota for PoliciesPerRole: ${MAX_POLICIES}`);
  }
  changeRole(role, context.now, { attachedPolicies: [...attached, arn] });
  return {};
}

function detach(input: Input, context: Context): Output {
  const role = roleForWrite(input, context);
  const arn = requireArn(input);
  const attached = currentVersion(role).attachedPolicies;
  if (!attached.includes(arn)) throw iamErrors.noSuchEntity(`Policy ${arn} was not found.`);
  changeRole(role, context.now, { attachedPolicies: attached.filter((other) => other !== arn) });
  return {};
}

function listAttached(input: Input, context: Context): Output {
  const { version } = roleForRead(input, context);
  const { items, paging } = page(input, version.attachedPolicies);
  return {
    AttachedPolicies: items.map((arn) => ({ PolicyName: arn.slice(arn.lastIndexOf('/') + 1), PolicyArn: arn })),
    ...paging,
  };
}

function putInline(input: Input, context: Context): Output {
  const role = roleForWrite(input, context);
  const name = requiredName(input, 'PolicyName', POLICY_NAME_LIMIT);
  const document = requiredText(input, 'PolicyDocument');
  changeRole(role, context.now, { inlinePolicies: { ...currentVersion(role).inlinePolicies, [name]: document } });
  return {};
}

function deleteInline(input: Input, context: Context): Output {
  const role = roleForWrite(input, context);
  const name = requiredName(input, 'PolicyName', POLICY_NAME_LIMIT);
  const { inlinePolicies } = currentVersion(role);
  if (!Object.hasOwn(inlinePolicies, name))
    throw iamErrors.noSuchEntity(`The role policy with name ${name} cannot be found.`);
  const { [name]: _, ...rest } = inlinePolicies;
  changeRole(role, context.now, { inlinePolicies: rest });
  return {};
}

function listInline(input: Input, context: Context): Output {
  const { version } = roleForRead(input, context);
  const { items, paging } = page(input, Object.keys(version.inlinePolicies));
  return { PolicyNames: items, ...paging };
}

const resource = roleResource;

export const policyOperations: Operations = {
  AttachRolePolicy: { resource, run: attach, mutates: true },
  DetachRolePolicy: { resource, run: detach, mutates: true },
  ListAttachedRolePolicies: { resource, run: listAttached, mutates: false },
  PutRolePolicy: { resource, run: putInline, mutates: true },
  DeleteRolePolicy: { resource, run: deleteInline, mutates: true },
  ListRolePolicies: { resource, run: listInline, mutates: false },
};
