import type { Context, Operations, Output } from '../context.ts';
import { iamErrors } from '../errors.ts';
import { policyExists } from './managed-policies.ts';
import { page } from './paging.ts';
import { roleForRead, roleForWrite, roleResource } from './role-lookup.ts';
import { POLICY_NAME_LIMIT, optionalPath, requiredName, requiredText } from './name-limits.ts';
import { changeRole } from './role-changes.ts';
import { urlEncode } from './roles.ts';
import { type Input, optionalString } from '../input.ts';
import { currentVersion } from './role-visibility.ts';
import { Instant } from '../time.ts';

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
  const { maxPoliciesPerRole } = context.state.config.iam;
  if (attached.length >= maxPoliciesPerRole) {
    throw iamErrors.limitExceeded(`Cannot exceed quota for PoliciesPerRole: ${maxPoliciesPerRole}`);
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
  const { items, paging } = page(input, version.attachedPolicies, context);
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

function getInline(input: Input, context: Context): Output {
  const { role, version } = roleForRead(input, context);
  const name = requiredName(input, 'PolicyName', POLICY_NAME_LIMIT);
  const document = Object.hasOwn(version.inlinePolicies, name) ? version.inlinePolicies[name] : undefined;
  if (document === undefined) throw noInlinePolicy(name);
  return { RoleName: role.name, PolicyName: name, PolicyDocument: urlEncode(document) };
}

function deleteInline(input: Input, context: Context): Output {
  const role = roleForWrite(input, context);
  const name = requiredName(input, 'PolicyName', POLICY_NAME_LIMIT);
  const { inlinePolicies } = currentVersion(role);
  if (!Object.hasOwn(inlinePolicies, name)) throw noInlinePolicy(name);
  const { [name]: _, ...rest } = inlinePolicies;
  changeRole(role, context.now, { inlinePolicies: rest });
  return {};
}

function noInlinePolicy(name: string): Error {
  return iamErrors.noSuchEntity(`The role policy with name ${name} cannot be found.`);
}

function listInline(input: Input, context: Context): Output {
  const { version } = roleForRead(input, context);
  const { items, paging } = page(input, Object.keys(version.inlinePolicies), context);
  return { PolicyNames: items, ...paging };
}

function createPolicy(input: Input, context: Context): Output {
  const { account, now, state } = context;
  const name = requiredName(input, 'PolicyName', POLICY_NAME_LIMIT);
  const path = optionalPath(input);
  requiredText(input, 'PolicyDocument');
  const arn = `arn:${account.partition}:iam::${account.id}:policy${path}${name}`;
  if (account.policies.has(arn)) {
    throw iamErrors.entityAlreadyExists(`A policy called ${name} already exists. Duplicate names are not allowed.`);
  }
  account.policies.add(arn);
  return {
    Policy: {
      PolicyName: name,
      PolicyId: state.env.id('ANPA', 21),
      Arn: arn,
      Path: path,
      DefaultVersionId: 'v1',
      AttachmentCount: 0,
      PermissionsBoundaryUsageCount: 0,
      IsAttachable: true,
      CreateDate: new Instant(now),
      UpdateDate: new Instant(now),
    },
  };
}

function deletePolicy(input: Input, context: Context): Output {
  const { account } = context;
  const arn = requireArn(input);
  if (!account.policies.has(arn)) throw iamErrors.noSuchEntity(`Policy ${arn} was not found.`);
  const used = [...account.roles.values()].some((role) => currentVersion(role).attachedPolicies.includes(arn));
  if (used) throw iamErrors.deleteConflict('Cannot delete a policy attached to entities.');
  account.policies.delete(arn);
  return {};
}

const resource = roleResource;
const policyResource = (input: Input): string => optionalString(input, 'PolicyArn') ?? '*';

export const policyOperations: Operations = {
  AttachRolePolicy: { resource, run: attach, mutates: true },
  DetachRolePolicy: { resource, run: detach, mutates: true },
  ListAttachedRolePolicies: { resource, run: listAttached, mutates: false },
  PutRolePolicy: { resource, run: putInline, mutates: true },
  GetRolePolicy: { resource, run: getInline, mutates: false },
  DeleteRolePolicy: { resource, run: deleteInline, mutates: true },
  ListRolePolicies: { resource, run: listInline, mutates: false },
  CreatePolicy: { resource: policyResource, run: createPolicy, mutates: true },
  DeletePolicy: { resource: policyResource, run: deletePolicy, mutates: true },
};
