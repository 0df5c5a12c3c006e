import { readFileSync, readdirSync } from 'node:fs';
import { left, right } from 'fp-ts/lib/Either.js';
import { expect } from 'chai';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import type { Change, ChangeHandler, TypedListing } from 'controller-runtime/cache';
import type { KubeObject } from 'controller-runtime/client';
import { formatTimestamp } from 'controller-runtime/env';
import type { AWSFargateProfile, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { PROFILE_PHASES, phaseOf, profileMetrics } from './metrics.ts';
import { CREATED_AT, aDeletedObject, anObject, instant } from '../testing/builders.ts';
import { condition } from '../testing/completed-reconcile.ts';

/**
 * A folder with manifests of AWSFargateProfiles as the manager writes them. The test cases of the Argo CD health check
 * use them too.
 */
const OBJECTS = new URL(
  '../../../config/argocd/resource_customizations/infrastructure.cluster.x-k8s.io/AWSFargateProfile/testdata/',
  import.meta.url,
);

const PHASE_OF_FILE: Readonly<Record<string, string>> = {
  'aws-throttles-before-ready': 'Reconciling AWSUnavailable',
  'aws-unreachable-for-10m': 'Ready Ready',
  changed: 'Ready Ready',
  'control-plane-missing': 'Reconciling WaitingForEKSControlPlane',
  'control-plane-not-ready-while-ready': 'Ready Ready',
  'create-failed-for-1h': 'Stalled CreateFailed',
  creating: 'Reconciling Creating',
  'creating-for-40m': 'Reconciling Creating',
  'identity-not-found': 'Stalled IdentityNotFound',
  new: 'Unknown Unknown',
  'paused-by-cluster': 'Paused Paused',
  'profile-of-another-object': 'Stalled ProfileNotOwned',
  ready: 'Ready Ready',
  'role-creation-denied': 'Stalled AccessDenied',
  'spec-differs': 'Stalled SpecDiffers',
  'waiting-for-a-stranger': 'Reconciling WaitingForSibling',
};

const words = (object: AWSFargateProfile): string => {
  const { phase, reason } = phaseOf(object);
  return `${phase} ${reason}`;
};

describe('phaseOf', () => {
  it('is the phase of each object that the manager writes, with its reason', () => {
    const files = readdirSync(OBJECTS);
    const phases = files.map((file) => {
      const object = parse(readFileSync(new URL(file, OBJECTS), 'utf8')) as AWSFargateProfile;
      return [file.replace('.yaml', ''), words(object)];
    });
    expect(Object.fromEntries(phases)).to.deep.equal(PHASE_OF_FILE);
  });

  it('tells a deletion from a deletion that needs the user', () => {
    const withDeleting = { conditions: [condition('Deleting', 'True', 'DeletingProfile')] };
    expect(words(aDeletedObject({ status: withDeleting }))).to.equal('Deleting DeletingProfile');
    expect(words(aDeletedObject())).to.equal('Deleting Deleting');
    const conditions = [...withDeleting.conditions, condition('Stalled', 'True', 'AccessDenied')];
    expect(words(aDeletedObject({ status: { conditions } }))).to.equal('Stalled AccessDenied');
  });
});

describe('profileMetrics', () => {
  function fixture() {
    const registry = new Registry();
    let remaining = 10_000;
    let handler: ChangeHandler = () => {};
    let listing: TypedListing<AWSFargateProfile> = { kind: 'listed', entries: [] };
    profileMetrics(registry).watch({
      store: {
        onChange: (onChange) => {
          handler = onChange;
          return () => true;
        },
      },
      profiles: { list: () => listing },
      leadership: { remaining: () => remaining },
    });
    return {
      lead: (time: number) => (remaining = time),
      list: (objects: readonly (AWSFargateProfile | undefined)[]) =>
        (listing = {
          kind: 'listed',
          entries: objects.map((object) => ({
            object: {} as KubeObject,
            decoded: object === undefined ? left([]) : right(object),
          })),
        }),
      change: (change: Change) => handler(change),
      lines: async (name: string) =>
        (await registry.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`)),
      series: async () => {
        const { values = [] } = (await registry.getSingleMetric('capaf_awsfargateprofiles')?.get()) ?? {};
        return Object.fromEntries(values.map(({ labels, value }) => [`${labels['phase']} ${labels['reason']}`, value]));
      },
      readySeconds: async () => {
        const sum = /time_to_ready_seconds_sum (.*)/.exec(await registry.metrics());
        return Number(sum?.[1]);
      },
    };
  }
  const ready: AWSFargateProfileStatus = { conditions: [condition('Ready', 'True', 'Ready')] };

  it('counts overlaps and replacements, and shows zeros', async () => {
    const { list, lines } = fixture();
    const replacing = (reason: string) =>
      anObject({
        status: {
          initialization: { provisioned: true },
          predecessors: [{}],
          conditions: [condition('Ready', reason === 'Replacing' ? 'False' : 'True', reason)],
        },
      });
    list([
      anObject({ status: { conditions: [condition('SelectorsOverlap', 'True', 'Shadowed')] } }),
      replacing('Replacing'),
      replacing('PredecessorKept'),
      replacing('Draining'),
      replacing('RemovingPredecessor'),
      // The first profile of an object replaces nothing.
      anObject({ status: { predecessors: [{}] } }),
      undefined,
    ]);
    const [overlapping, replacements] = ['capaf_awsfargateprofiles_overlapping', 'capaf_awsfargateprofiles_replacing'];
    expect(await lines(overlapping)).to.deep.equal([
      `${overlapping}{reason="Overlap"} 0`,
      `${overlapping}{reason="Shadowed"} 1`,
    ]);
    const steps = ['creating', 'keeping', 'draining', 'removing'].map((step) => `${replacements}{step="${step}"} 1`);
    expect(await lines(replacements)).to.deep.equal(steps);
  });

  it('counts the objects of the leader', async () => {
    const { list, series, lead } = fixture();
    list([anObject({ status: ready }), anObject({ status: ready }), anObject(), undefined]);
    const counts = { 'Ready Ready': 2, 'Unknown Unknown': 1, 'Invalid InvalidObject': 1 };
    expect(await series()).to.deep.equal(counts);
    lead(0);
    expect(await series(), 'of a replica that does not lead').to.deep.equal({});
    lead(1);
    list([anObject({ status: ready })]);
    expect(await series()).to.deep.equal({ 'Ready Ready': 1 });
  });

  it('has a limited number of series, whatever clients write into the status', async () => {
    const { list, series } = fixture();
    const types = ['Ready', 'Stalled', 'Reconciling', 'Deleting', 'Paused'];
    list(
      types.flatMap((type) =>
        Array.from({ length: 100 }, (_none, n) => {
          const status = { conditions: [condition(type, 'True', `reason-${n}`)] };
          return n % 2 === 0 ? anObject({ status }) : aDeletedObject({ status });
        }),
      ),
    );
    const phases = Object.keys(await series());
    expect(phases.length).to.be.at.most(PROFILE_PHASES.length * 2);
    expect(phases).to.include.members(['Stalled Other', 'Reconciling Other', 'Deleting Other', 'Ready Ready']);
  });

  it('times the first readiness of an object, once', async () => {
    const { change, readySeconds, lead } = fixture();
    const created = instant(CREATED_AT);
    const at = (seconds: number) => formatTimestamp(created + seconds * 1_000);
    const object = (status?: object): KubeObject => ({ ...anObject(), status });
    const provisioned = (seconds: number) =>
      object({
        initialization: { provisioned: true },
        conditions: [{ ...condition('Ready', 'True', 'Ready'), lastTransitionTime: at(seconds) }],
      });
    change({ type: 'added', object: provisioned(10), isInInitialList: true });
    expect(await readySeconds()).to.equal(0);
    change({ type: 'updated', previous: object({ conditions: [] }), object: provisioned(95) });
    expect(await readySeconds()).to.equal(95);
    change({ type: 'updated', previous: provisioned(95), object: provisioned(500) });
    expect(await readySeconds()).to.equal(95);
    lead(0);
    change({ type: 'updated', previous: object(), object: provisioned(60) });
    expect(await readySeconds(), 'of a replica that does not lead').to.equal(95);
  });
});
