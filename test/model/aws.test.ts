import { expect } from 'chai';
import fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { Registry } from 'prom-client';
import { MemoryLogger, propertyRuns, SeededRandom, VirtualClock } from 'controller-runtime/testing';
import { EksClusterName, ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import { CallerAccounts, CredentialPool, newSessions, awsMetrics, type Session } from '../../pkg/cloud/index.ts';
import { AWS_ENDPOINTS } from '../../pkg/cloud/testing/endpoints.ts';
import { Emulator } from '../aws/emulator.ts';
import { seededEnv } from '../aws/model/env.ts';
import { EmulatorRequestHandler } from '../aws/transport/request-handler.ts';
import { EKS_POLICY } from '../world/aws/capa-resources.ts';
import { ACCOUNT, type Aws, type AwsRequest, EKS_CLUSTER, REGION, answerOfAws, arnOfRole, withEnd } from './aws.ts';
import { sessionOf } from './reconcile.ts';

// The exploration is only as accurate as its model of AWS. These tests make the same calls to this model and to the AWS
// emulator, and compare what the product's Session returns for both.

const MINUTE = 60_000;
const CLUSTER = EksClusterName.of(EKS_CLUSTER);
const TRUST = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Principal: { Service: 'eks-fargate-pods.amazonaws.com' }, Action: 'sts:AssumeRole' }],
});

type Step =
  | { readonly do: 'createRole' | 'deleteRole' | 'attach' | 'detach' | 'tagRole' | 'untagRole'; readonly role: string }
  | { readonly do: 'create'; readonly profile: string; readonly role: string }
  | { readonly do: 'delete' | 'tag' | 'untag'; readonly profile: string }
  | { readonly do: 'createEntry' | 'deleteEntry'; readonly role: string }
  | { readonly do: 'wait' };

const anyRole = fc.constantFrom('one', 'two');
const anyProfile = fc.constantFrom('a', 'b');
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom('createRole', 'createRole', 'deleteRole', 'attach', 'detach', 'tagRole', 'untagRole'),
    role: anyRole,
  }),
  fc.record({ do: fc.constant('create'), profile: anyProfile, role: anyRole }),
  fc.record({ do: fc.constantFrom('delete', 'delete', 'tag', 'untag'), profile: anyProfile }),
  fc.record({ do: fc.constantFrom('createEntry', 'deleteEntry'), role: anyRole }),
  fc.constant({ do: 'wait' as const }),
) as fc.Arbitrary<Step>;

async function make(session: Session, step: Exclude<Step, { do: 'wait' }>): Promise<string> {
  const answer = await callFor(session, step);
  return E.isRight(answer) ? 'done' : `${answer.left.code} ${answer.left.statusCode}`;
}

async function callFor(
  { profiles, roles, accessEntries }: Session,
  step: Exclude<Step, { do: 'wait' }>,
): Promise<E.Either<{ readonly code: string; readonly statusCode?: number }, unknown>> {
  if ('profile' in step) {
    const name = ProfileName.of(step.profile);
    switch (step.do) {
      case 'create': {
        const podExecutionRoleArn = RoleArn.of(arnOfRole('/', step.role));
        const selectors = [{ namespace: 'web', labels: {} }];
        return profiles.create({ cluster: CLUSTER, name, podExecutionRoleArn, subnets: [], selectors, tags: {} });
      }
      case 'delete':
        return profiles.delete(CLUSTER, name);
      case 'tag':
      case 'untag': {
        const found = await profiles.describe(CLUSTER, name);
        if (E.isLeft(found) || found.right.kind !== 'found') return E.right('nothing to tag');
        const { arn } = found.right.profile;
        return step.do === 'tag' ? profiles.tag(arn, { team: 'web' }) : profiles.untag(arn, ['team']);
      }
    }
  }
  const name = RoleName.of(step.role);
  const arn = RoleArn.of(arnOfRole('/', step.role));
  switch (step.do) {
    case 'createRole':
      return roles.create({ name, path: '/', trust: TRUST, tags: { of: 'web' } });
    case 'deleteRole':
      return roles.delete(name);
    case 'attach':
      return roles.attach(name, EKS_POLICY);
    case 'detach':
      return roles.detach(name, EKS_POLICY);
    case 'tagRole':
      return roles.tag(name, { team: 'web' });
    case 'untagRole':
      return roles.untag(name, ['team']);
    case 'createEntry':
      return accessEntries.create(CLUSTER, arn);
    case 'deleteEntry':
      return accessEntries.delete(CLUSTER, arn);
  }
}

/** Returns the profiles, roles and access entries that the session reads from AWS, without ids and times. */
async function view({ profiles, roles, accessEntries }: Session): Promise<unknown> {
  const right = <A>(answer: E.Either<unknown, A>): A | undefined => (E.isRight(answer) ? answer.right : undefined);
  const shownProfiles = ['a', 'b'].map(async (name) => {
    const found = right(await profiles.describe(CLUSTER, ProfileName.of(name)));
    return found?.kind === 'found'
      ? [name, found.profile.status, found.profile.podExecutionRoleArn, found.profile.tags]
      : [name, found?.kind];
  });
  const shownRoles = ['one', 'two'].map(async (name) => {
    const role = right(await roles.get(RoleName.of(name)));
    const attached = role && right(await roles.attachedPolicies(RoleName.of(name)));
    const entry = right(await accessEntries.describe(CLUSTER, RoleArn.of(arnOfRole('/', name))));
    return [name, role?.tags, attached, entry?.kind === 'found' ? entry.entry.type : entry?.kind];
  });
  const listed = right(await profiles.list(CLUSTER));
  return {
    profiles: await Promise.all(shownProfiles),
    roles: await Promise.all(shownRoles),
    listed: listed?.kind === 'listed' ? listed.names.toSorted() : listed?.kind,
  };
}

/** A session of the product on the AWS of the model. */
class ModelAws {
  aws: Aws = { cluster: 'there', mode: 'API_AND_CONFIG_MAP', profiles: {}, roles: {}, entries: {}, serial: 0 };
  readonly session = sessionOf(async (request) => {
    const [aws, answer] = answerOfAws(this.aws, request as AwsRequest, 'web');
    this.aws = aws;
    return answer;
  });

  wait(): void {
    for (const name of Object.keys(this.aws.profiles)) this.aws = withEnd(this.aws, name);
  }
}

/** A session of the product on the AWS emulator. */
async function emulated() {
  const clock = new VirtualClock();
  let now = clock.now();
  const emulator = new Emulator({
    clock: { now: () => now, sleep: async () => {} },
    env: seededEnv(1),
    config: { eks: { createMs: MINUTE, deleteMs: MINUTE }, latencyMs: 0 },
  });
  const { accessKeyId } = emulator.admin.registerKey({ account: ACCOUNT });
  emulator.admin.createCluster({ name: EKS_CLUSTER, account: ACCOUNT, region: REGION });
  const { signal } = new AbortController();
  const shared = {
    clock: { now: () => now, monotonic: () => now, after: () => ({ cancel: () => {} }) },
    logger: new MemoryLogger(),
    transport: new EmulatorRequestHandler(emulator),
    limiter: { acquire: async () => ({ settle: () => {} }) },
    metrics: awsMetrics(new Registry()),
    endpoints: AWS_ENDPOINTS,
    region: REGION,
    version: 'v0.0.0',
  };
  const source = { key: 'manager', fetch: async () => ({ accessKeyId, secretAccessKey: 's' }) };
  const opened = await newSessions({
    ...shared,
    pool: new CredentialPool(shared.clock, signal, MINUTE),
    random: new SeededRandom(1),
    sources: { find: async () => E.right(source) },
    accounts: new CallerAccounts({ ...shared, pool: new CredentialPool(shared.clock, signal, MINUTE), signal }),
  }).open({ region: REGION, identity: undefined, namespace: 'team-a', signal, mutationBudget: () => MINUTE });
  if (E.isLeft(opened)) throw new Error(`no session: ${opened.left.message}`);
  return { session: opened.right, wait: () => void (now += 10 * MINUTE) };
}

describe('The AWS of the model', () => {
  it('answers every sequence of calls as the AWS emulator does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 25 }), async (steps) => {
        const model = new ModelAws();
        const emulator = await emulated();
        const told: (readonly [string, string, string])[] = [];
        for (const step of steps) {
          if (step.do === 'wait') {
            model.wait();
            emulator.wait();
            continue;
          }
          told.push([JSON.stringify(step), await make(model.session, step), await make(emulator.session, step)]);
          const [, ofModel, ofEmulator] = told.at(-1) ?? [];
          expect(ofModel, JSON.stringify(told)).to.equal(ofEmulator);
          expect(await view(model.session), JSON.stringify(told)).to.deep.equal(await view(emulator.session));
        }
      }),
      { numRuns: propertyRuns(20) },
    );
  });
});
