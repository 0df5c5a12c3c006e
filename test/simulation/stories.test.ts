import { expectGolden } from '../support/golden.ts';
import type { SimulatedManager } from './world/simulated-manager.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { OTHER, REPLACEMENT, ReplaceableWorld } from './world/replaceable-world.ts';
import { HOUR } from './phases/phase.ts';

/** A reconcile of an AWSFargateProfile, or several equal ones in a row. */
interface Reconcile {
  readonly id: unknown;
  readonly reads: string[];
  readonly changes: string[];
  /** Why the next reconcile is scheduled. */
  next: string;
  ready: string;
}

/** Tells from the manager's log, reconcile by reconcile, what happens to the AWSFargateProfile `web`. */
class Story {
  private readonly world: SimulatedWorld;
  private readonly manager: SimulatedManager;
  /** The condition Ready after the log line with this index. */
  private readonly readyAt = new Map<number, string>();
  private from = 0;

  constructor(world: SimulatedWorld) {
    this.world = world;
    this.manager = world.start('-v=4');
    world.onChange = () => {
      const { status, reason } = world.condition('web') ?? {};
      this.readyAt.set(this.manager.logger.lines.length, status === undefined ? '' : `${status} ${reason}`);
    };
  }

  /** Returns the reconciles since the last call as a table. */
  tell(title: string): string {
    const reconciles = this.reconciles().map(describeReconcile);
    const lines = reconciles.flatMap((text, index) => {
      if (text === reconciles[index - 1]) return [];
      const end = reconciles.findIndex((each, at) => at > index && each !== text);
      const times = (end === -1 ? reconciles.length : end) - index;
      return [times > 1 ? `${text} (${times} times)` : text];
    });
    return [title, ...lines.map((line, index) => `${index + 1}. ${line}`), ''].join('\n');
  }

  private reconciles(): readonly Reconcile[] {
    const found: Reconcile[] = [];
    let ready = '';
    const { lines } = this.manager.logger;
    for (const [index, { message, keys }] of lines.entries()) {
      ready = this.readyAt.get(index) ?? ready;
      if (index < this.from || keys['controller'] !== 'awsfargateprofile' || keys['name'] !== 'web') continue;
      const { reconcileID: id, operation, reason } = keys;
      const last = found.at(-1);
      const current: Reconcile =
        last !== undefined && last.id === id ? last : { id, reads: [], changes: [], next: 'none', ready };
      if (current !== last) found.push(current);
      current.ready = ready;
      if (message === 'AWS call' && typeof operation === 'string')
        (/^(?:Get|List|Describe)/.test(operation) ? current.reads : current.changes).push(operation);
      else if (typeof reason === 'string') current.next = reason;
    }
    this.from = lines.length;
    return found;
  }
}

function describeReconcile({ reads, changes, next, ready }: Reconcile): string {
  const kind = reads.includes('ListFargateProfiles') ? 'Survey' : 'Glance';
  const change = changes.length > 0 ? changes.join(', ') : 'no change';
  return `${kind} (${[...new Set(reads)].toSorted().join(', ')}); ${change}; next: ${next}; Ready: ${ready}`;
}

const golden = (name: string): URL => new URL(`stories/${name}.golden`, import.meta.url);

describe('reconcile by reconcile,', () => {
  it('an object is created and replaced', async () => {
    const world = new ReplaceableWorld();
    const story = new Story(world);
    world.applyWith('web', { updateStrategy: { type: 'Replace' } });
    await world.ready('web');
    const created = story.tell('An object is created.');
    world.change({ spec: OTHER });
    await world.until(
      'the predecessor is gone',
      () => world.names.join() === REPLACEMENT && world.shown() === 'True/Ready',
      HOUR,
    );
    expectGolden(
      golden('create-and-replace'),
      [created, story.tell('Its selectors change under updateStrategy Replace.')].join('\n'),
    );
    await world.deleteAndFinish('web');
  });

  it('an object is deleted whose role another object uses', async () => {
    const world = new SimulatedWorld();
    const story = new Story(world);
    for (const name of ['web', 'api']) world.applyWith(name, { roleName: 'shared' });
    await world.ready('web', 'api');
    story.tell('');
    world.delete('web');
    await world.gone('web');
    expectGolden(golden('delete-with-shared-role'), story.tell('An object is deleted. Another object uses its role.'));
    await world.deleteAndFinish('api');
  });
});
