import { expect } from 'chai';
import fc from 'fast-check';
import { propertyRuns } from 'controller-runtime/testing';
import type { FargateSelector } from '../../../pkg/cloud/index.ts';
import { PROFILE_LABEL } from '../../../pkg/fargate/fargate-pods.ts';
import { findMismatch } from '../../../pkg/fargate/selectors.ts';
import { type Profile, decide } from './decide.ts';
import { type Pod, podOf } from './pod.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const MINUTE = 60_000;

const profile = (name: string, selectors: readonly FargateSelector[], more: Partial<Profile> = {}): Profile => ({
  name,
  status: 'ACTIVE',
  selectors,
  createdAt: NOW - 60 * MINUTE,
  ...more,
});

const newPod = (labels: Readonly<Record<string, string>> = {}, namespace = 'shop'): Pod => {
  const pod = podOf({ kind: 'Pod', metadata: { name: 'p', namespace, labels }, spec: { containers: [{}] } }, '');
  if (pod === undefined) throw new Error('no pod');
  return pod;
};

const SHOP = [{ namespace: 'shop', labels: {} }];

// The reference for the property below, written naively and without the product's code.

const matchesNaively = (pattern: string, text: string): boolean => {
  const [first, ...rest] = [...pattern];
  if (first === undefined) return text === '';
  if (first === '*')
    return Array.from({ length: text.length + 1 }, (_, at) => text.slice(at)).some((end) =>
      matchesNaively(rest.join(''), end),
    );
  return text !== '' && (first === '?' || first === text[0]) && matchesNaively(rest.join(''), text.slice(1));
};

const selectsNaively = ({ namespace, labels }: FargateSelector, pod: Pod): boolean =>
  matchesNaively(namespace, pod.namespace) &&
  Object.entries(labels).every(([key, value]) =>
    Object.entries(pod.labels).some(([name, text]) => matchesNaively(key, name) && matchesNaively(value, text)),
  );

function takerNaively(pod: Pod, profiles: readonly Profile[]): string | null {
  const asked = pod.labels[PROFILE_LABEL];
  const able = profiles
    .filter(({ status, selectors }) => status === 'ACTIVE' && (selectors ?? []).some((one) => selectsNaively(one, pod)))
    .map(({ name }) => name);
  if (asked !== undefined) return able.includes(asked) ? asked : null;
  return able.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))[0] ?? null;
}

const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 3 });
const text = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 });
const aSelector = fc.record({ namespace: pattern, labels: fc.dictionary(pattern, pattern, { maxKeys: 2 }) });
const NAMES = ['a', 'B', 'ab', 'a-b', 'ü', '\u{FFFD}', '\u{1F600}'];
const someProfiles = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom(...NAMES),
    status: fc.constantFrom('ACTIVE', 'ACTIVE', 'CREATING', 'DELETING'),
    selectors: fc.array(aSelector, { minLength: 1, maxLength: 3 }),
  }),
  { maxLength: 5, selector: ({ name }) => name },
);
const aPod = fc
  .record({
    namespace: text,
    labels: fc.dictionary(text, text, { maxKeys: 3 }),
    asked: fc.option(fc.constantFrom(...NAMES), { nil: undefined, freq: 3 }),
  })
  .map(({ namespace, labels, asked }) =>
    newPod({ ...labels, ...(asked !== undefined && { [PROFILE_LABEL]: asked }) }, namespace),
  );

describe('The verdict about a new pod', () => {
  it('agrees with a naive matcher, for each selector and for the profile that takes the pod', () => {
    const seen = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(aPod, someProfiles, (pod, raw) => {
        const profiles = raw.map(({ name, status, selectors }) => profile(name, selectors, { status }));
        const verdict = decide(pod, profiles, true, NOW);
        expect(verdict.taker).to.equal(takerNaively(pod, profiles));
        seen[verdict.taker === null ? 'refused' : 'taken'] += 1;
        for (const { name, matches, selectors } of verdict.profiles) {
          const wanted = profiles.find((one) => one.name === name)?.selectors ?? [];
          expect(selectors.map((one) => one.matches)).to.deep.equal(wanted.map((one) => selectsNaively(one, pod)));
          expect(matches).to.equal(wanted.some((one) => selectsNaively(one, pod)));
        }
      }),
      { numRuns: propertyRuns(1500) },
    );
    expect(Math.min(seen.taken, seen.refused)).to.be.greaterThan(100);
  });

  const mismatches: readonly (readonly [FargateSelector, string | undefined])[] = [
    [{ namespace: 'shop', labels: {} }, undefined],
    [{ namespace: 'shp', labels: { app: 'x' } }, 'the namespace is shop'],
    [{ namespace: 'sh*', labels: { tier: 'x', app: 'x' } }, 'there is no label tier'],
    [{ namespace: 's??p', labels: { app: 'x', tier: 'x' } }, 'the label is app=web'],
    [{ namespace: '*', labels: { 'a*': 'x' } }, 'the label is app=web, area=eu'],
    [{ namespace: '*', labels: { 'a*': '?u' } }, undefined],
    [{ namespace: '', labels: {} }, 'the namespace is shop'],
  ];
  for (const [selector, mismatch] of mismatches)
    it(`${JSON.stringify(selector)}: ${mismatch ?? 'matches'}`, () =>
      expect(findMismatch(selector, newPod({ app: 'web', area: 'eu' }))).to.equal(mismatch));

  it('does not confuse labels with properties that each object has', () => {
    expect(findMismatch({ namespace: '*', labels: { constructor: '*' } }, newPod())).to.equal(
      'there is no label constructor',
    );
    expect(decide(newPod({ ['__proto__']: 'x' }), [profile('a', SHOP)], true, NOW).taker).to.equal('a');
  });

  const summaryOf = (pod: Pod, profiles: readonly Profile[]): string => decide(pod, profiles, true, NOW).summary;

  it('says why nobody takes the pod', () => {
    const nobody = 'No Fargate profile takes Pod shop/p: ';
    const other = [{ namespace: 'other', labels: {} }];
    expect(summaryOf(newPod(), [])).to.equal(`${nobody}none has a selector that matches it.`);
    expect(summaryOf(newPod(), [profile('a', SHOP, { status: 'CREATING' }), profile('b', other)])).to.equal(
      `${nobody}profile "a" matches it, but is CREATING.`,
    );
    expect(summaryOf(newPod(), [profile('a', SHOP, { status: 'absent' })])).to.equal(
      `${nobody}profile "a" matches it, but is absent.`,
    );
    const asks = `${nobody}its label eks.amazonaws.com/fargate-profile names profile "b", which`;
    const pod = newPod({ [PROFILE_LABEL]: 'b' });
    expect(summaryOf(pod, [profile('a', SHOP)])).to.equal(`${asks} does not exist.`);
    expect(summaryOf(pod, [profile('b', other)])).to.equal(`${asks} has no selector that matches it.`);
    expect(summaryOf(pod, [profile('b', SHOP, { status: 'DELETING' })])).to.equal(`${asks} is DELETING.`);
  });

  it('warns of a profile that has been ACTIVE for less than 30 s', () => {
    const trapsOf = (more: Partial<Profile>) => decide(newPod(), [profile('a', SHOP, more)], true, NOW).traps;
    const trap = 'Profile "a" has been ACTIVE for less than 30 s: EKS may miss a pod before 2026-11-21T12:00:01Z.';
    expect(trapsOf({ activeSince: NOW - 29_000 })).to.deep.equal([trap]);
    expect(trapsOf({ activeSince: NOW - 30_000 })).to.deep.equal([]);
    expect(trapsOf({ createdAt: NOW - 29_000 })).to.deep.equal([trap]);
    expect(trapsOf({ createdAt: undefined })).to.deep.equal([]);
  });

  it('does not guess while only EKS knows the selectors of a profile that may come first', () => {
    const unknown = (name: string) => ({ ...profile(name, []), selectors: undefined });
    const verdict = decide(newPod(), [profile('b', SHOP), unknown('a')], false, NOW);
    expect(verdict).to.deep.include({
      taker: null,
      summary:
        'Which Fargate profile takes Pod shop/p is not known: only EKS knows the selectors of profile "a" now, and EKS did not answer.',
    });
    expect(verdict.profiles[0]).to.deep.include({ name: 'a', matches: null, selectors: [] });
    expect(summaryOf(newPod(), [profile('b', SHOP), unknown('c')])).to.equal('Fargate profile "b" takes Pod shop/p.');
    expect(summaryOf(newPod(), [unknown('c')])).to.match(/is not known/);
    expect(summaryOf(newPod(), [profile('b', SHOP), { ...unknown('a'), status: 'DELETING' }])).to.equal(
      'Fargate profile "b" takes Pod shop/p.',
    );
    expect(summaryOf(newPod({ [PROFILE_LABEL]: 'c' }), [profile('b', SHOP), unknown('c')])).to.match(/is not known/);
    expect(summaryOf(newPod({ [PROFILE_LABEL]: 'b' }), [profile('b', SHOP), unknown('a')])).to.equal(
      'Fargate profile "b" takes Pod shop/p.',
    );
  });

  it('lets the annotation of CoreDNS win over each profile', () => {
    const verdict = decide(
      { ...newPod(), annotations: { 'eks.amazonaws.com/compute-type': 'ec2' } },
      [profile('a', SHOP)],
      true,
      NOW,
    );
    expect(verdict.taker).to.equal(null);
    expect(verdict.summary).to.match(/its annotation eks.amazonaws.com\/compute-type is ec2/);
    expect(verdict.traps.join()).to.match(/kubectl -n kube-system patch deployment\/coredns/);
  });
});

describe('The verdict about a pod that exists', () => {
  const live = (minutesAgo: number, labels = {}, schedulerName = 'default-scheduler'): Pod => ({
    ...newPod(labels),
    spec: { schedulerName },
    created: { at: NOW - minutesAgo * MINUTE, uid: 'u', status: { phase: 'Pending' } },
  });
  const known = { createdAt: NOW - 60 * MINUTE, activeSince: NOW - 57 * MINUTE };
  const trapOf = (pod: Pod, more: Partial<Profile> = known): string => {
    const { taker, summary, traps } = decide(pod, [profile('a', SHOP, more)], true, NOW);
    expect(taker).to.equal('a');
    expect(summary).to.equal('No Fargate profile has taken Pod shop/p; "a" would run a new copy of it.');
    expect(traps).to.have.length(1);
    return traps[0] ?? '';
  };

  it('compares the time of the pod with that of the profile', () => {
    const times = '(created at 2026-11-21T11:00:00Z, seen ACTIVE at 2026-11-21T11:03:00Z)';
    expect(trapOf(live(61))).to.equal(
      `EKS chooses a profile only when a pod is created. It may not have known "a" ${times} when the pod was created (2026-11-21T10:59:00Z). Delete the pod, and create it again unless its controller does.`,
    );
    expect(trapOf(live(56.6))).to.match(/It may not have known "a"/);
    expect(trapOf(live(56.5))).to.match(/It did not choose "a" then/);
    expect(trapOf(live(61), { createdAt: undefined, activeSince: NOW - 57 * MINUTE })).to.match(
      /known "a" \(seen ACTIVE at 2026-11-21T11:03:00Z\) when/,
    );
    expect(trapOf(live(61), { createdAt: undefined })).to.match(/It did not choose "a" then/);
  });

  const admitted = (labels: Readonly<Record<string, string>>) => live(5, labels, 'fargate-scheduler');

  it('takes the label of an admitted pod as a fact, whatever the selectors say', () => {
    const profiles = [profile('a', SHOP), profile('b', [{ namespace: 'other', labels: {} }])];
    expect(decide(admitted({ [PROFILE_LABEL]: 'b' }), profiles, true, NOW)).to.deep.include({
      taker: 'b',
      summary: 'EKS has given Pod shop/p to Fargate profile "b".',
      traps: [],
    });
  });

  it('tells that the profile of an admitted pod is gone, unless profiles were not seen', () => {
    const pod = admitted({ [PROFILE_LABEL]: 'gone' });
    expect(decide(pod, [profile('a', SHOP)], true, NOW).traps).to.deep.equal([
      'Fargate profile "gone" no longer exists, so the pod does not start. Delete the pod.',
    ]);
    expect(decide(pod, [profile('a', SHOP)], false, NOW)).to.deep.include({ taker: 'gone', traps: [] });
  });

  it('tells that the profile of an admitted pod is not ACTIVE', () => {
    const profiles = [profile('a', SHOP, { status: 'DELETING' })];
    expect(decide(admitted({ [PROFILE_LABEL]: 'a' }), profiles, true, NOW).traps).to.deep.equal([
      'Fargate profile "a" is DELETING.',
    ]);
  });

  it('does not name a profile of a pod whose manifest has the scheduler of Fargate, but not the label of EKS', () => {
    const { taker, summary, traps } = decide(admitted({}), [profile('a', SHOP)], true, NOW);
    expect(taker).to.equal('a');
    expect(summary).to.equal('No Fargate profile has taken Pod shop/p; "a" would run a new copy of it.');
    expect(traps.join()).to.match(/^EKS chooses a profile only when a pod is created/);
  });

  it('does not take a manifest with the scheduler of Fargate for an admitted pod', () => {
    const pod = { ...newPod({ [PROFILE_LABEL]: 'gone' }), spec: { schedulerName: 'fargate-scheduler' } };
    expect(decide(pod, [profile('a', SHOP)], false, NOW)).to.deep.include({ taker: null, traps: [] });
  });
});
