import type { Context, Operations, Output } from '../context.ts';
import { eksErrors } from '../errors.ts';
import { type Input, optionalInteger, optionalString, stringList, stringMap } from '../input.ts';
import { checkProfileName, readSelectors, tagsFault } from './validation.ts';
import { checkPodExecutionRole } from './pod-execution-role.ts';
import { admitPodExecutionRole } from './access-entries.ts';
import { checkSubnets, subnetsToUse } from './subnets.ts';
import { clusterResource, requireCluster } from './clusters.ts';
import { Instant } from '../time.ts';
import type { EmulatedCluster, EmulatedProfile, UpdateRefusal, ProfileSelector, TagMap } from '../resources.ts';

interface CreateRequest {
  readonly name: string;
  readonly podExecutionRoleArn: string;
  readonly subnets: readonly string[];
  readonly selectors: readonly ProfileSelector[];
  readonly tags: TagMap;
}

function profileView(cluster: EmulatedCluster, profile: EmulatedProfile): Output {
  return {
    fargateProfileName: profile.name,
    fargateProfileArn: profile.arn,
    clusterName: cluster.name,
    createdAt: new Instant(profile.createdAt),
    podExecutionRoleArn: profile.podExecutionRoleArn,
    subnets: profile.subnets,
    selectors: profile.selectors,
    status: profile.status,
    tags: profile.tags,
    health: { issues: profile.issues },
  };
}

function readCreateRequest(input: Input): CreateRequest {
  const name = optionalString(input, 'fargateProfileName') ?? '';
  checkProfileName(name);
  const podExecutionRoleArn = optionalString(input, 'podExecutionRoleArn');
  if (podExecutionRoleArn === undefined || podExecutionRoleArn === '') {
    throw eksErrors.invalidParameter('podExecutionRoleArn is required', { fargateProfileName: name });
  }
  const selectors = readSelectors(input);
  const tags = stringMap(input, 'tags');
  const fault = tagsFault(tags);
  if (fault !== undefined) throw eksErrors.invalidParameter(fault, { fargateProfileName: name });
  return { name, podExecutionRoleArn, subnets: stringList(input, 'subnets'), selectors, tags };
}

function busySibling(cluster: EmulatedCluster): EmulatedProfile | undefined {
  return [...cluster.profiles.values()].find(({ status }) => status === 'CREATING' || status === 'DELETING');
}

function isUpdating(cluster: EmulatedCluster, operation: UpdateRefusal): boolean {
  return cluster.status === 'UPDATING' || cluster.updates.some(({ refuses }) => refuses.includes(operation));
}

/**
 * The checks of CreateFargateProfile against the state of AWS. AWS does not document their order.
 * @throws the error of the first check that fails
 */
function checkCreation(request: CreateRequest, cluster: EmulatedCluster, context: Context): void {
  const members = { clusterName: cluster.name, fargateProfileName: request.name };
  const cannot = `Cannot create Fargate Profile ${request.name} because cluster ${cluster.name} currently has`;
  if (cluster.status !== 'ACTIVE' && cluster.status !== 'UPDATING')
    throw eksErrors.invalidRequest(`Cluster '${cluster.name}' is not in ACTIVE status`, members);
  if (cluster.profiles.has(request.name))
    throw eksErrors.resourceInUse('A Fargate Profile already exists with this name in this cluster.', members);
  const busy = busySibling(cluster);
  if (busy !== undefined)
    throw eksErrors.resourceInUse(`${cannot} Fargate profile ${busy.name} in status ${busy.status}`, members);
  if (isUpdating(cluster, 'create')) throw eksErrors.resourceInUse(`${cannot} an update in progress`, members);
  if (cluster.profiles.size >= context.state.config.eks.maxProfilesPerCluster)
    throw eksErrors.resourceLimit('Fargate Profile limit exceeded for cluster.', members);
  checkSubnets(request.subnets, cluster, context, members);
  checkPodExecutionRole(request.podExecutionRoleArn, request.name, cluster, context, members);
}

function createProfile(input: Input, context: Context): Output {
  const { state, now, region, principal } = context;
  const request = readCreateRequest(input);
  const cluster = requireCluster(input, 'clusterName', context);
  const token = optionalString(input, 'clientRequestToken');
  const fingerprint = JSON.stringify(request);
  const earlier = token === undefined ? undefined : cluster.requests.get(token);
  if (earlier !== undefined && cluster.profiles.get(earlier.profile.name) === earlier.profile) {
    if (earlier.fingerprint === fingerprint) return { fargateProfile: profileView(cluster, earlier.profile) };
    // AWS documents that a clientRequestToken is bound to the parameters of its first request. AWS does not document
    // the error for a request with the same token and other parameters, and what happens after the profile is deleted.
    throw eksErrors.invalidParameter('The clientRequestToken was already used with other parameters.', {
      clusterName: cluster.name,
      fargateProfileName: request.name,
    });
  }
  checkCreation(request, cluster, context);

  const issues = state.plannedFailures.take('create');
  const profile: EmulatedProfile = {
    name: request.name,
    arn: `arn:${principal.partition}:eks:${region.name}:${principal.account}:fargateprofile/${cluster.name}/${request.name}/${state.env.uuid()}`,
    createdAt: now,
    podExecutionRoleArn: request.podExecutionRoleArn,
    subnets: subnetsToUse(request.subnets, cluster, region),
    selectors: request.selectors,
    foreign: principal.foreign,
    status: 'CREATING',
    tags: request.tags,
    issues: [],
    transition: {
      at: now + state.draw(state.config.eks.createMs),
      to: issues === undefined ? 'ACTIVE' : 'CREATE_FAILED',
      issues: issues ?? [],
    },
  };
  cluster.profiles.set(profile.name, profile);
  admitPodExecutionRole(cluster, profile.podExecutionRoleArn, context);
  if (token !== undefined) cluster.requests.set(token, { fingerprint, profile });
  return { fargateProfile: profileView(cluster, profile) };
}

function requireProfile(input: Input, cluster: EmulatedCluster, visibleFrom: number, now: number): EmulatedProfile {
  const name = optionalString(input, 'fargateProfileName') ?? '';
  const profile = cluster.profiles.get(name);
  if (profile === undefined || profile.createdAt + visibleFrom > now) {
    throw eksErrors.resourceNotFound(`No Fargate Profile found with name: ${name}.`, {
      clusterName: cluster.name,
      fargateProfileName: name,
    });
  }
  return profile;
}

function describeProfile(input: Input, context: Context): Output {
  const cluster = requireCluster(input, 'clusterName', context);
  const { describeAfterCreateMs } = context.state.config.eks;
  return { fargateProfile: profileView(cluster, requireProfile(input, cluster, describeAfterCreateMs, context.now)) };
}

function listProfiles(input: Input, context: Context): Output {
  const cluster = requireCluster(input, 'clusterName', context);
  const { listAfterCreateMs } = context.state.config.eks;
  const asked = optionalInteger(input, 'maxResults') ?? 100;
  if (asked < 1 || asked > 100) {
    throw eksErrors.invalidParameter('maxResults needs to be between 1 and 100', { clusterName: cluster.name });
  }
  const token = optionalString(input, 'nextToken');
  const after = token === undefined ? '' : decodeToken(token, cluster);
  const names = [...cluster.profiles.values()]
    .filter(({ createdAt }) => createdAt + listAfterCreateMs <= context.now)
    .map(({ name }) => name)
    .filter((name) => name > after)
    .toSorted();
  const page = names.slice(0, asked);
  const last = page.at(-1);
  return {
    fargateProfileNames: page,
    ...(last !== undefined && names.length > page.length ? { nextToken: encodeToken(last) } : {}),
  };
}

// The nextToken of a page contains the name of the last Fargate profile on the page. An index would skip or repeat
// profiles when profiles are created or deleted between two pages.
function encodeToken(after: string): string {
  return Buffer.from(`after:${after}`).toString('base64url');
}

function decodeToken(token: string, cluster: EmulatedCluster): string {
  const text = Buffer.from(token, 'base64url').toString();
  if (text.startsWith('after:')) return text.slice('after:'.length);
  throw eksErrors.invalidParameter('Invalid nextToken', { clusterName: cluster.name });
}

function deleteProfile(input: Input, context: Context): Output {
  const { state, now } = context;
  const cluster = requireCluster(input, 'clusterName', context);
  const profile = requireProfile(input, cluster, 0, now);
  const members = { clusterName: cluster.name, fargateProfileName: profile.name };
  const cannot = `Cannot Delete Fargate Profile ${profile.name} because cluster ${cluster.name} currently has`;
  // If the profile to delete is itself CREATING or DELETING, EKS refuses DeleteFargateProfile with an error message
  // that contains the name of this profile twice.
  const busy = busySibling(cluster);
  if (busy !== undefined) {
    throw eksErrors.resourceInUse(`${cannot} Fargate profile ${busy.name} in status ${busy.status}`, members);
  }
  if (isUpdating(cluster, 'delete')) throw eksErrors.resourceInUse(`${cannot} an update in progress`, members);
  const issues = state.plannedFailures.take('delete');
  profile.status = 'DELETING';
  profile.issues = [];
  profile.transition = {
    at: now + state.draw(state.config.eks.deleteMs),
    to: issues === undefined ? 'gone' : 'DELETE_FAILED',
    issues: issues ?? [],
  };
  return { fargateProfile: profileView(cluster, profile) };
}

function profileResource(input: Input, context: Context): string {
  const clusterName = optionalString(input, 'clusterName') ?? '';
  const name = optionalString(input, 'fargateProfileName') ?? '';
  const known = context.state.cluster(context.region, clusterName, context.now)?.profiles.get(name);
  const { partition, account } = context.principal;
  return known?.arn ?? `arn:${partition}:eks:${context.region.name}:${account}:fargateprofile/${clusterName}/${name}/*`;
}

export const profileOperations: Operations = {
  CreateFargateProfile: { resource: clusterResource, run: createProfile, mutates: true },
  DescribeFargateProfile: { resource: profileResource, run: describeProfile, mutates: false },
  ListFargateProfiles: { resource: clusterResource, run: listProfiles, mutates: false },
  DeleteFargateProfile: { resource: profileResource, run: deleteProfile, mutates: true },
};
