import { expect } from 'chai';
import { KubeError } from './errors.ts';
import { initialState, step } from './reflector-state.ts';
import type { ReflectorInput, ReflectorState, Watching } from './reflector-state.ts';
import { widget, widgets } from './testing/fixtures.ts';

const failure = (status: number, reason: string): ReflectorInput => ({
  kind: 'failed',
  error: new KubeError('x', { status, reason }),
});
const unreachable = failure(0, 'NoAnswer');
const interrupted = failure(0, 'Interrupted');
const expired = failure(410, 'Expired');
const notServed = failure(404, 'NotServed');
const unreadable = failure(0, 'Undecodable');

const listing: ReflectorState = {
  kind: 'listing',
  resource: widgets,
  collected: [widget('a', '1')],
  continue: 'page-2',
  failures: 2,
  misses: 1,
};
const watching: Watching = {
  kind: 'watching',
  resource: widgets,
  resourceVersion: '10',
  healthySince: 0,
  opened: 0,
  isSilent: false,
  failures: 3,
  misses: 0,
};

const comparing: ReflectorState = {
  kind: 'comparing',
  resource: widgets,
  resourceVersion: '10',
  failures: 4,
  misses: 0,
};

/** `backingOff→listing(continue)#failures`, so that a row of the table shows what matters. */
function textOf(state: ReflectorState): string {
  switch (state.kind) {
    case 'backingOff':
      return `backingOff#${state.failures} → ${textOf(state.next)}`;
    case 'listing':
      return `listing(${state.continue ?? 'from the start'}, ${state.collected.length})`;
    case 'watching':
    case 'comparing':
      return `${state.kind}(${state.resourceVersion})`;
    case 'unserved':
      return `unserved(${state.misses})`;
    case 'resolving':
      return 'resolving';
  }
}

describe('step', () => {
  const rows: readonly [string, ReflectorState, ReflectorInput, Ms: number, string, string | undefined][] = [
    ['served', initialState, { kind: 'resolved', resource: widgets }, 0, 'listing(from the start, 0)', undefined],
    ['not served', initialState, { kind: 'resolved', resource: undefined }, 0, 'unserved(1)', 'markUnknown'],
    ['no discovery', initialState, unreachable, 0, 'backingOff#1 → resolving', undefined],
    ['asked again', { kind: 'unserved', failures: 0, misses: 4 }, { kind: 'due' }, 0, 'resolving', undefined],
    ['another page', listing, page('5', ['b'], 'page-3'), 0, 'listing(page-3, 2)', undefined],
    ['the last page', listing, page('5', ['b']), 0, 'watching(5)', 'replaceAll a,b @5'],
    ['a page failed', listing, unreachable, 0, 'backingOff#3 → listing(page-2, 1)', undefined],
    ['a page expired', listing, expired, 0, 'backingOff#3 → listing(from the start, 0)', undefined],
    ['listed a kind that went', listing, notServed, 0, 'unserved(2)', 'markUnknown'],
    ['an event', watching, event('MODIFIED', 'b', '11'), 0, 'watching(11)', 'upsert b @11'],
    ['a deletion', watching, event('DELETED', 'b', '12'), 0, 'watching(12)', 'remove b @12'],
    ['a bookmark', watching, bookmark('13'), 0, 'watching(13)', 'advance @13'],
    ['the end', watching, { kind: 'ended' }, 10, 'watching(10)', undefined],
    [
      'an end at once',
      { ...watching, isSilent: true },
      { kind: 'ended' },
      999,
      'backingOff#4 → comparing(10)',
      undefined,
    ],
    ['an end in time', { ...watching, isSilent: true }, { kind: 'ended' }, 1_000, 'watching(10)', undefined],
    ['a lost connection', watching, unreachable, 0, 'backingOff#4 → comparing(10)', undefined],
    ['one after two minutes', watching, unreachable, 120_000, 'backingOff#1 → comparing(10)', undefined],
    ['a server that knows more', comparing, page('11', ['a']), 0, 'watching(10)', undefined],
    ['a server that knows as much', comparing, page('10', ['a'], 'page-2'), 0, 'watching(10)', undefined],
    ['a server that knows less', comparing, page('9', ['a']), 0, 'listing(from the start, 0)', undefined],
    ['no answer', comparing, unreachable, 0, 'backingOff#5 → comparing(10)', undefined],
    ['a kind that went', comparing, notServed, 0, 'unserved(1)', 'markUnknown'],
    ['an interruption', watching, interrupted, 0, 'comparing(10)', undefined],
    ['one of a quiet watch', { ...watching, isSilent: true }, interrupted, 1_000, 'comparing(10)', undefined],
    ['one at once', { ...watching, isSilent: true }, interrupted, 999, 'backingOff#4 → comparing(10)', undefined],
    ['410', watching, expired, 0, 'backingOff#4 → listing(from the start, 0)', undefined],
    ['an unreadable event', watching, unreadable, 0, 'backingOff#4 → listing(from the start, 0)', undefined],
    ['an error event', watching, errorEvent(410, 'Expired'), 0, 'backingOff#4 → listing(from the start, 0)', undefined],
    [
      'any error event',
      watching,
      errorEvent(500, 'InternalError'),
      0,
      'backingOff#4 → listing(from the start, 0)',
      undefined,
    ],
    ['a kind that went', watching, notServed, 0, 'unserved(1)', 'markUnknown'],
  ];
  for (const [what, state, input, now, expected, effect] of rows)
    it(`${state.kind}: ${what}`, () => {
      const transition = step(state, input, now);
      expect(textOf(transition.state)).to.equal(expected);
      expect(effectText(transition.effect)).to.equal(effect);
    });

  it('goes on after a pause with what failed, and counts a new watch as new', () => {
    const { state: pausing } = step(watching, unreachable, 200_000);
    const { state: looking } = step(pausing, { kind: 'due' }, 200_900);
    const { state: resumed } = step(looking, page('10', []), 201_000);
    expect(resumed).to.deep.equal({ ...watching, failures: 1, healthySince: 201_000, opened: 201_000, isSilent: true });
    const { state: again } = step(resumed, unreachable, 202_000);
    expect(again.failures).to.equal(2);
  });

  it('forgets misses once the kind is listed', () => {
    expect(step(listing, page('5', []), 0).state.misses).to.equal(0);
  });

  it('refuses an input that the state cannot have', () => {
    expect(() => step(initialState, { kind: 'ended' }, 0)).to.throw(TypeError, 'resolving cannot take the input ended');
  });
});

function page(resourceVersion: string, names: readonly string[], next?: string): ReflectorInput {
  const items = names.map((name) => widget(name, '2'));
  return { kind: 'page', page: { resourceVersion, items, ...(next === undefined ? {} : { continue: next }) } };
}

function event(type: 'MODIFIED' | 'DELETED', name: string, version: string): ReflectorInput {
  return { kind: 'event', event: { type, object: widget(name, version) } };
}

function bookmark(resourceVersion: string): ReflectorInput {
  return { kind: 'event', event: { type: 'BOOKMARK', resourceVersion } };
}

function errorEvent(code: number, reason: string): ReflectorInput {
  return { kind: 'event', event: { type: 'ERROR', status: { code, reason, message: 'x' } } };
}

function effectText(effect: ReturnType<typeof step>['effect']): string | undefined {
  switch (effect?.kind) {
    case undefined:
    case 'markUnknown':
      return effect?.kind;
    case 'replaceAll':
      return `replaceAll ${effect.items.map(({ metadata }) => metadata.name).join()} @${effect.resourceVersion}`;
    case 'upsert':
    case 'remove':
      return `${effect.kind} ${effect.object.metadata.name} @${effect.object.metadata.resourceVersion}`;
    case 'advance':
      return `advance @${effect.resourceVersion}`;
  }
}
