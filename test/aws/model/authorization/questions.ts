import type { Context } from '../context.ts';
import { currentVersion } from '../iam/role-visibility.ts';
import { readTags } from '../iam/tag-validation.ts';
import { type Input, optionalString, stringList, stringMap } from '../input.ts';
import type { TagMap } from '../resources.ts';
import type { Service } from '../sts/principals.ts';
import type { Question } from './policy.ts';

/**
 * The services that AWS may send as the value of the condition key `iam:PassedToService` when EKS uses a pod execution
 * role. AWS does not document which of these services it sends, so a policy must allow both.
 */
const PASSED_TO = ['eks.amazonaws.com', 'eks-fargate-pods.amazonaws.com'];
const FARGATE_SERVICE = 'eks-fargate.amazonaws.com';

/** An AWS call, with the ARN of the resource that the call reads or changes. */
export interface AuthorizedCall {
  readonly service: Service;
  readonly operation: string;
  readonly input: Input;
  readonly resource: string;
}

/**
 * Returns the authorization checks that AWS makes for a call: one for the operation itself, and others for its side
 * effects, such as iam:PassRole. Source of actions and condition keys: the Service Authorization Reference of IAM and
 * EKS.
 */
export function questionsAbout(call: AuthorizedCall, context: Context): readonly Question[] {
  const { service, operation, resource } = call;
  const own: Question = { action: `${service}:${operation}`, resource, context: contextOf(call, context) };
  return [own, ...furtherQuestions(call, context)];
}

function furtherQuestions({ operation, input, resource }: AuthorizedCall, context: Context): readonly Question[] {
  switch (operation) {
    case 'CreateRole': {
      const tags = readTags(input);
      return Object.keys(tags).length === 0 ? [] : [{ action: 'iam:TagRole', resource, context: requestTags(tags) }];
    }
    case 'CreateFargateProfile':
      return createProfileQuestions(input, context);
    default:
      return [];
  }
}

function createProfileQuestions(input: Input, { principal, region }: Context): readonly Question[] {
  const { partition, account } = principal;
  const [cluster, name] = [optionalString(input, 'clusterName'), optionalString(input, 'fargateProfileName')];
  const serviceRole = `arn:${partition}:iam::${account}:role/aws-service-role/${FARGATE_SERVICE}/AWSServiceRoleForAmazonEKSForFargate`;
  return [
    {
      action: 'eks:TagResource',
      resource: `arn:${partition}:eks:${region.name}:${account}:fargateprofile/${cluster}/${name}/*`,
      context: requestTags(stringMap(input, 'tags')),
    },
    ...PASSED_TO.map((passedTo) => ({
      action: 'iam:PassRole',
      resource: optionalString(input, 'podExecutionRoleArn') ?? '',
      context: { 'iam:passedtoservice': passedTo },
    })),
    { action: 'iam:GetRole', resource: serviceRole, context: {} },
    {
      action: 'iam:CreateServiceLinkedRole',
      resource: serviceRole,
      context: { 'iam:awsservicename': FARGATE_SERVICE },
    },
  ];
}

function contextOf({ service, operation, input }: AuthorizedCall, context: Context): Question['context'] {
  if (service !== 'iam') return {};
  const role = context.account.roles.get((optionalString(input, 'RoleName') ?? '').toLowerCase());
  const version = operation === 'CreateRole' || role === undefined ? undefined : currentVersion(role);
  const [asked, policy] = [optionalString(input, 'PermissionsBoundary'), optionalString(input, 'PolicyArn')];
  const boundary = asked ?? version?.permissionsBoundary;
  return {
    ...prefixed('aws:resourcetag/', version?.tags ?? {}),
    ...(operation === 'CreateRole' || operation === 'TagRole' ? requestTags(readTags(input)) : {}),
    ...(operation === 'UntagRole' && { 'aws:tagkeys': stringList(input, 'TagKeys') }),
    ...(boundary !== undefined && { 'iam:permissionsboundary': boundary }),
    ...(policy !== undefined && { 'iam:policyarn': policy }),
  };
}

const requestTags = (tags: TagMap): Question['context'] => ({
  ...prefixed('aws:requesttag/', tags),
  'aws:tagkeys': Object.keys(tags),
});

const prefixed = (prefix: string, tags: TagMap): Question['context'] =>
  Object.fromEntries(Object.entries(tags).map(([key, value]) => [prefix + key.toLowerCase(), value]));
