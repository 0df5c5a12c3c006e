import { expect } from 'chai';
import type { Ms } from '../env/clock.ts';
import { KubeError } from '../client/errors.ts';
import { initialState, step, type ReflectorInput, type ReflectorState, type Watching } from './reflector-state.ts';
import { widget, widgets } from '../testing/fixtures.ts';

const failure = (status: number, reason: string): ReflectorInput => ({
  kind: 'failed',
  error: new KubeError('x', { status, reason }),
});
const unreachable = failure(0, 'NoAnswer');
const overloaded = failure(429, 'TooManyRequests');
const interrupted = failure(0, 'Interrupted');
const expired = failure(410, 'Expired');
const notServed = failure(404, 'NotServed');
const unreadable = failure(0, 'Undecodable');
const due: ReflectorInput = { kind: 'due' };
const ended: ReflectorInput = { kind: 'ended' };
const silence: ReflectorInput = { kind: 'silent' };

const resource = widgets;
const unserved: ReflectorState = { kind: 'unserved', failures: 4 };
const page2 = { collected: [widget('a', '1')], continue: 'page-2' };
const listing: ReflectorState = { kind: 'listing', resource, ...page2, failures: 2 };
const watching: Watching = {
  kind: 'watching',
  resource,
  resourceVersion: '10',
  healthySince: 0,
  openedAt: 0,
  isWithoutEvents: false,
  isAfterSilence: false,
  failures: 3,
};
const silent: Watching = { ...watching, isWithoutEvents: true };
const afterSilence: Watching = { ...silent, isAfterSilence: true };

/**
 * Describes a state of the reflector as text. For example, `backingOff#4 → resolving` is the backoff after four
 * failures, followed by another discovery.
 */
function textOf(state: ReflectorState): string {
  switch (state.kind) {
    case 'backingOff':
      return `backingOff#${state.failures} → ${textOf(state.next)}`;
    case 'listing':
      return `listing(${state.continue ?? 'from the start'}, ${state.collected.length})`;
    case 'watching':
      return `watching(${state.resourceVersion})`;
    case 'unserved':
      return `unserved(${state.failures})`;
    case 'resolving':
      return 'resolving';
  }
}

describe('step', () => {
  const rows: readonly [string, ReflectorState, ReflectorInput, string, effect?: string | undefined, now?: Ms][] = [
    ['the kind is served', initialState, { kind: 'resolved', resource }, 'listing(from the start, 0)'],
    ['it is not served', initialState, { kind: 'resolved', resource: undefined }, 'unserved(1)', 'markUnserved'],
    ['discovery failed', initialState, unreachable, 'backingOff#1 → resolving'],
    ['the delay is over', unserved, due, 'resolving'],
    ['another page', listing, page('5', ['b'], 'page-3'), 'listing(page-3, 2)'],
    ['the last page', listing, page('5', ['b']), 'watching(5)', 'replaceAll a,b @5'],
    ['a page failed', listing, unreachable, 'backingOff#3 → listing(page-2, 1)'],
    ['a page expired', listing, expired, 'backingOff#3 → listing(from the start, 0)'],
    ['the kind is no longer served', listing, notServed, 'unserved(3)', 'markUnknown'],
    ['an event', watching, event('MODIFIED', 'b', '11'), 'watching(11)', 'upsert b @11'],
    ['a deleted event', watching, event('DELETED', 'b', '12'), 'watching(12)', 'remove b @12'],
    ['a bookmark', watching, bookmark('13'), 'watching(13)', 'advance @13'],
    ['the watch ended', watching, ended, 'watching(10)', undefined, 10],
    [
      'the watch ended at once without an event',
      silent,
      ended,
      'backingOff#4 → listing(from the start, 0)',
      undefined,
      999,
    ],
    ['the watch ended after a second without an event', silent, ended, 'watching(10)', undefined, 1_000],
    ['the watch was silent', watching, silence, 'watching(10)', undefined, 90_000],
    ['the watch was silent from the beginning', silent, silence, 'watching(10)', undefined, 90_000],
    ['the new watch was silent too', afterSilence, silence, 'listing(from the start, 0)', undefined, 90_000],
    ['no answer', watching, unreachable, 'backingOff#4 → listing(from the start, 0)'],
    ['no answer later', watching, unreachable, 'backingOff#1 → listing(from the start, 0)', undefined, 120_000],
    ['a refusal', watching, overloaded, 'backingOff#4 → listing(from the start, 0)'],
    ['an interrupted watch', watching, interrupted, 'watching(10)'],
    ['an interrupted watch without an event', silent, interrupted, 'watching(10)', undefined, 1_000],
    ['a watch interrupted at once', silent, interrupted, 'backingOff#4 → listing(from the start, 0)', undefined, 999],
    ['an expired version', watching, expired, 'backingOff#4 → listing(from the start, 0)'],
    ['an unreadable event', watching, unreadable, 'backingOff#4 → listing(from the start, 0)'],
    ['an expiry as an event', watching, errorEvent(410, 'Expired'), 'backingOff#4 → listing(from the start, 0)'],
    ['an error as an event', watching, errorEvent(500, 'InternalError'), 'backingOff#4 → listing(from the start, 0)'],
    ['the kind is no longer served', watching, notServed, 'unserved(4)', 'markUnknown'],
  ];
  for (const [what, state, input, expected, effect, now = 0] of rows)
    it(`${state.kind}: ${what}`, () => {
      const transition = step(state, input, now);
      expect(textOf(transition.state)).to.equal(expected);
      expect(effectText(transition.effect)).to.equal(effect);
    });

  it('repeats the failed operation after the backoff, and resets the times of the new watch', () => {
    const { state: backingOff } = step(watching, overloaded, 200_000);
    const { state: relisting } = step(backingOff, due, 200_900);
    const { state: watchingAgain } = step(relisting, page('10', []), 201_000);
    expect(watchingAgain).to.deep.equal({ ...silent, failures: 1, healthySince: 201_000, openedAt: 201_000 });
    const { state: again } = step(watchingAgain, unreachable, 202_000);
    expect(again.failures).to.equal(2);
  });

  it('opens a silent watch again as often as the watch has sent something before', () => {
    const { state: reopened } = step(watching, silence, 90_000);
    expect(reopened).to.deep.equal({ ...afterSilence, openedAt: 90_000 });
    const { state: fed } = step(reopened, bookmark('11'), 100_000);
    expect(textOf(step(fed, silence, 190_000).state)).to.equal('watching(11)');
  });

  it('throws for an input that does not belong to the state', () => {
    expect(() => step(initialState, ended, 0)).to.throw(TypeError, 'resolving cannot take the input ended');
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
    case 'markUnserved':
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
