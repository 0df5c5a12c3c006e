import type { Context, Operations, Output } from '../context.ts';
import { eksErrors } from '../errors.ts';
import { type Input, optionalString, stringList, stringMap } from '../input.ts';
import { tagsFault } from './validation.ts';
import type { EmulatedCluster, EmulatedProfile } from '../resources.ts';

const arnPattern = /^arn:[^:]+:eks:([^:]*):(\d{12}):(cluster|fargateprofile)\/([^/]+)(?:\/(.+))?$/;

function requireResource(input: Input, context: Context): EmulatedCluster | EmulatedProfile {
  const arn = optionalString(input, 'resourceArn') ?? '';
  const parts = arnPattern.exec(arn);
  if (parts === null) throw eksErrors.badRequest(`Invalid resource ARN: ${arn}`);
  const [, region, account, kind, clusterName] = parts;
  const here = region === context.region.name && account === context.account.id;
  const cluster = here ? context.state.cluster(context.region, clusterName ?? '', context.now) : undefined;
  const found =
    kind === 'cluster' ? cluster : [...(cluster?.profiles.values() ?? [])].find((profile) => profile.arn === arn);
  if (found === undefined) throw eksErrors.notFound(`Resource was not found: ${arn}`);
  return found;
}

function tagResource(input: Input, context: Context): Output {
  const resource = requireResource(input, context);
  const added = stringMap(input, 'tags');
  const merged = { ...resource.tags, ...added };
  const fault = tagsFault(added) ?? tagsFault(merged);
  if (fault !== undefined) throw eksErrors.badRequest(fault);
  resource.tags = merged;
  return {};
}

function untagResource(input: Input, context: Context): Output {
  const resource = requireResource(input, context);
  const keys = stringList(input, 'tagKeys');
  if (keys.length < 1 || keys.length > 50) throw eksErrors.badRequest('tagKeys must have 1 to 50 members.');
  resource.tags = Object.fromEntries(Object.entries(resource.tags).filter(([key]) => !keys.includes(key)));
  return {};
}

const resource = (input: Input): string => optionalString(input, 'resourceArn') ?? '*';

export const tagOperations: Operations = {
  TagResource: { resource, run: tagResource, mutates: true },
  UntagResource: { resource, run: untagResource, mutates: true },
};
