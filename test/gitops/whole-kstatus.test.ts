import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import type { KubeObject } from 'controller-runtime/client';
import { type HealthStatus, SCRIPT_DIRECTORY, healthOf } from '../argocd/health.ts';
import { resolveBinaries } from '../envtest/binaries/binaries.ts';
import { skipIfBinariesMissing } from '../envtest/skip.ts';
import { PHASES } from '../simulation/phases/phase-groups.ts';
import { WEB, bringIntoPhase } from '../simulation/phases/phase.ts';
import { SimulatedWorld } from '../simulation/world/simulated-world.ts';
import { expectGolden } from '../support/golden.ts';
import { runProgram } from '../support/run-program.ts';
import { KSTATUS_GOLDEN, KSTATUS_NAMES, UNSEEN } from './kstatus-names.ts';

interface Computed {
  readonly status: 'InProgress' | 'Failed' | 'Current' | 'Terminating' | 'NotFound' | 'Unknown';
}

/**
 * Maps the health that Argo CD's script shows for an object to the statuses that kstatus may compute for the same
 * object. kstatus has no status for a paused object.
 */
const SAME: Readonly<Record<Exclude<HealthStatus, 'Suspended'>, readonly Computed['status'][]>> = {
  // While EKS changes the Fargate profile of a Ready object, kstatus computes InProgress, but Argo CD's health script
  // still shows Healthy.
  Healthy: ['Current', 'InProgress'],
  Progressing: ['InProgress'],
  Degraded: ['Failed'],
};

describe('the library kstatus of Flux', () => {
  const objects = new Map<string, KubeObject>();
  const computed = new Map<string, Computed>();

  before(async function () {
    const { kstatus } = await resolveBinaries(['kstatus']).catch(skipIfBinariesMissing(this));
    for (const phase of PHASES) {
      const world = new SimulatedWorld(phase.options);
      await bringIntoPhase(world, phase);
      const object = world.profile(WEB);
      if (object !== undefined) objects.set(phase.name, object);
    }
    for (const name of UNSEEN) {
      const text = readFileSync(new URL(`testdata/${name}.yaml`, SCRIPT_DIRECTORY), 'utf8');
      objects.set(name, parse(text) as KubeObject);
    }
    const { stdout, stderr, code } = await runProgram(kstatus, [], {
      name: 'kstatus',
      env: process.env,
      stdin: JSON.stringify([...objects.values()]),
    });
    expect(code, stderr).to.equal(0);
    const results = JSON.parse(stdout) as readonly Computed[];
    for (const [index, name] of [...objects.keys()].entries()) computed.set(name, results[index] as Computed);
  });

  it('has a status for each phase', () => {
    expect([...computed.keys()]).to.deep.equal(KSTATUS_NAMES);
    const width = Math.max(...[...computed.keys()].map((name) => name.length));
    const lines = [...computed].map(([name, { status }]) => `${name.padEnd(width)}  ${status}`);
    expectGolden(KSTATUS_GOLDEN, `${lines.join('\n')}\n`);
  });

  it('agrees with the health script of Argo CD', () => {
    for (const [name, object] of objects) {
      const { status } = computed.get(name) as Computed;
      const { status: health } = healthOf(object);
      if (object.metadata.deletionTimestamp !== undefined) expect(status, name).to.equal('Terminating');
      else if (health !== 'Suspended') expect(SAME[health], name).to.include(status);
    }
  });

  it('waits for the controller before its first visit, and after a change of the spec', () => {
    for (const name of UNSEEN) expect(computed.get(name)?.status, name).to.equal('InProgress');
  });
});
