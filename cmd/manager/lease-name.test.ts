import { expect } from 'chai';
import { isLeft } from 'fp-ts/lib/Either.js';
import { parseFlags } from './flags/parse-flags.ts';
import { leaseNameFor, parseLeaseId } from './lease-name.ts';

function leaseOf(...args: readonly string[]): string {
  const parsed = parseFlags(['--leader-elect', ...args]);
  if (isLeft(parsed)) return expect.fail(parsed.left);
  return parsed.right.kind === 'run' ? leaseNameFor(parsed.right.flags) : expect.fail(parsed.right.kind);
}

describe('leaseNameFor', () => {
  for (const [args, name] of [
    [[], 'capaf-leader-election'],
    [['--watch-filter=blue'], 'capaf-leader-election.filter-blue'],
    [['--namespace=blue'], 'capaf-leader-election.namespace-blue'],
    [['--namespace=team-a', '--watch-filter=blue'], 'capaf-leader-election.namespace-team-a.filter-blue'],
    [['--watch-filter=Team_A.b'], 'capaf-leader-election.filter-team-a-b.8c3e3c90b5'],
    [['--watch-filter=blue', '--leader-election-id=mine'], 'mine'],
  ] as const)
    it(`names the Lease of a manager with ${args.join(' ') || 'no scope'} ${name}`, () => {
      expect(leaseOf(...args)).to.equal(name);
    });

  it('gives different names to different filters, and only names that a Lease can have', () => {
    const values = ['a', 'A', 'a.b', 'a-b', 'a_b', 'A-b', 'a--b', 'a..b', 'x'.repeat(63), 'X'.repeat(63)];
    const hashed = values.map((value) => leaseOf(`--watch-filter=${value}`).replace(/^.*filter-/, ''));
    // A label value, here the value of --watch-filter, can equal the text into which the manager converts another label
    // value. The names of the two Leases must still differ.
    const lookalikes = hashed.filter((value) => value.includes('.') && value.length <= 63);
    const names = [...values, ...lookalikes].map((value) => leaseOf(`--watch-filter=${value}`));
    expect(lookalikes).to.have.length(5);
    expect(new Set(names).size).to.equal(names.length);
    for (const name of names) expect(parseLeaseId(name), name).to.deep.equal({ name });
  });
});

describe('parseLeaseId', () => {
  it('reads a name, and a namespace before it, as cluster-api-operator writes it', () => {
    expect(parseLeaseId('lease')).to.deep.equal({ name: 'lease' });
    expect(parseLeaseId('capaf-system/lease.a')).to.deep.equal({ namespace: 'capaf-system', name: 'lease.a' });
  });

  it('refuses what is no name of a Lease', () => {
    for (const text of ['', 'Lease', 'a_b', 'a/b/c', '/a', 'a/', 'a..b', '-a', 'a.b/c', 'a'.repeat(254)])
      expect(parseLeaseId(text), text).to.equal(undefined);
  });
});
