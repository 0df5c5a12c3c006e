import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { stringify } from 'yaml';
import type { KubeObject } from 'controller-runtime/client';
import { type Health, type HealthStatus, SCRIPT_DIRECTORY, healthOf } from '../argocd/health.ts';
import { expectGolden } from '../support/golden.ts';
import { PHASES } from './phases/phase-groups.ts';
import { type Phase, WEB, bringIntoPhase, patchWeb, startAndApply, startUntilReady } from './phases/phase.ts';
import { MINUTE } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

/**
 * Argo CD reads YAML 1.1, in which an unquoted timestamp is not a string, so the test writes timestamps with quotes.
 */
const YAML = { version: '1.1', lineWidth: 0 } as const;
/** The longest time until the manager sets the condition Stalled for a problem that only a user can solve. */
const MAX_TIME_UNTIL_STALLED = 5 * MINUTE;

/**
 * The health that Argo CD must show for an AWSFargateProfile in each situation. The keys are the names of the
 * situations, which are also the names of their golden files.
 */
const HEALTH_BY_PHASE: Readonly<Record<string, HealthStatus>> = {
  'control-plane-missing': 'Progressing',
  'control-plane-not-ready-while-ready': 'Healthy',
  'waiting-for-a-stranger': 'Progressing',
  'creating-for-40m': 'Progressing',
  'aws-throttles-before-ready': 'Progressing',
  'aws-unreachable-for-10m': 'Healthy',
  'identity-not-found': 'Degraded',
  'role-creation-denied': 'Degraded',
  'create-failed-for-1h': 'Degraded',
  'profile-of-another-object': 'Degraded',
  'spec-differs': 'Degraded',
  'paused-by-cluster': 'Suspended',
};

/**
 * Returns the YAML of an object with only its name and the fields that Argo CD's health script reads. The same constant
 * replaces every timestamp, so that the YAML does not depend on the moments at which the manager acts.
 */
function essentialsOf({ apiVersion, kind, metadata, ...object }: KubeObject): string {
  const { name, namespace, generation } = metadata;
  const { observedGeneration, conditions } = (object['status'] ?? {}) as Readonly<Record<string, unknown>>;
  const essentials = {
    apiVersion,
    kind,
    metadata: { name, namespace, generation },
    spec: object['spec'],
    status: { observedGeneration, conditions },
  };
  const times = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z/g;
  return stringify(essentials, YAML).replaceAll(times, '2026-11-21T03:25:00Z');
}

interface Case {
  readonly name: string;
  readonly wanted: HealthStatus;
  readonly arrange: (world: SimulatedWorld) => void | Promise<void>;
  readonly options?: Phase['options'];
}

const CASES: readonly Case[] = [
  {
    name: 'new',
    wanted: 'Progressing',
    arrange: (world) => world.applyWith(WEB, {}),
  },
  {
    name: 'creating',
    wanted: 'Progressing',
    arrange: async (world) => {
      startAndApply(world);
      await world.until('it is being created', () => world.condition(WEB)?.reason === 'Creating');
    },
  },
  { name: 'ready', wanted: 'Healthy', arrange: (world) => startUntilReady(world) },
  {
    name: 'changed',
    wanted: 'Progressing',
    arrange: async (world) => {
      await startUntilReady(world);
      patchWeb(world, { spec: { additionalTags: { team: 'shop' } } });
    },
  },
  ...Object.entries(HEALTH_BY_PHASE).map(([name, wanted]): Case => {
    const phase = PHASES.find((each) => each.name === name);
    if (phase === undefined) throw new Error(`there is no phase ${name}`);
    return {
      name,
      wanted,
      arrange: (world) => bringIntoPhase(world, phase, MAX_TIME_UNTIL_STALLED),
      options: phase.options,
    };
  }),
];

describe('the health script of Argo CD', () => {
  const healths = new Map<string, Health>();

  for (const { name, wanted, arrange, options } of CASES)
    it(`shows ${wanted} for ${name}`, async () => {
      const world = new SimulatedWorld(options);
      await arrange(world);
      const object = world.profile(WEB) as KubeObject;
      const health = healthOf(object);
      expect(health.status, health.message).to.equal(wanted);
      expectGolden(new URL(`testdata/${name}.yaml`, SCRIPT_DIRECTORY), essentialsOf(object));
      healths.set(name, health);
    });

  it('is tested by Argo CD with these objects', () => {
    const tests = CASES.flatMap(({ name }) => {
      const health = healths.get(name);
      return health === undefined ? [] : [{ healthStatus: health, inputPath: `testdata/${name}.yaml` }];
    });
    expectGolden(new URL('health_test.yaml', SCRIPT_DIRECTORY), stringify({ tests }, YAML));
    const files = readdirSync(new URL('testdata/', SCRIPT_DIRECTORY));
    expect(files).to.have.members(CASES.map(({ name }) => `${name}.yaml`));
  });
});
