import { expect } from 'chai';
import { expectGolden } from '../support/golden.ts';
import type { SimulatedManager } from './world/simulated-manager.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { OTHER, REPLACEMENT, ReplaceableWorld } from './world/replaceable-world.ts';
import { deleteHeld } from './phases/phase.ts';
import { CLUSTER, CONTROL_PLANE_REF, HOUR, MINUTE } from './world/cluster.ts';
import { type KubeWrite, describeWrite, isAbout } from './world/trace.ts';

/** A reconcile of an AWSFargateProfile. */
interface Reconcile {
  /** The writes to the API server and the AWS calls, in order. */
  readonly steps: readonly string[];
  /** Why the next reconcile is scheduled. */
  readonly next: string;
}

/** Tells, reconcile by reconcile, what the manager reads and writes for the AWSFargateProfile `web`. */
class Story {
  private readonly world: SimulatedWorld;
  private readonly manager: SimulatedManager;
  /** The writes to the API server, each with the number of log lines before it. */
  private writes: { readonly after: number; readonly write: KubeWrite }[] = [];
  private from = 0;

  constructor(world: SimulatedWorld) {
    this.world = world;
    this.manager = world.start('-v=4');
    world.onChange = (change) => {
      if ('body' in change && isAbout(change, 'web') && !change.path.endsWith('/events'))
        this.writes.push({ after: this.manager.logger.lines.length, write: change });
    };
  }

  /** Returns the reconciles since the last call. Equal ones in a row are shown once. */
  tell(title: string): string {
    const reconciles = this.reconciles().map(describeReconcile);
    const lines = reconciles.flatMap((text, index) => {
      if (text === reconciles[index - 1]) return [];
      const end = reconciles.findIndex((each, at) => at > index && each !== text);
      const times = (end === -1 ? reconciles.length : end) - index;
      return [times > 1 ? text.replace('\n', ` (${times} times)\n`) : text];
    });
    return [title, ...lines.map((line, index) => `${index + 1}. ${line}`), ''].join('\n');
  }

  private reconciles(): readonly Reconcile[] {
    const found: Reconcile[] = [];
    let steps: string[] = [];
    const { lines } = this.manager.logger;
    const writesAfter = (count: number): readonly string[] =>
      this.writes
        .filter(({ after }) => after === count)
        .map(({ write }) => `write ${describeWrite(write)}${write.status === 409 ? ' Conflict' : ''}`);
    for (const [index, { message, keys }] of lines.entries()) {
      if (index < this.from) continue;
      steps.push(...writesAfter(index));
      if (keys['controller'] !== 'awsfargateprofile' || keys['name'] !== 'web') continue;
      if (message === 'AWS call') steps.push(this.describeCall(String(keys['requestId'])));
      else if (message.startsWith('Reconcile done')) {
        found.push({ steps, next: typeof keys['reason'] === 'string' ? keys['reason'] : 'none' });
        steps = [];
      }
    }
    this.from = lines.length;
    steps.push(...writesAfter(lines.length));
    this.writes = [];
    return steps.length > 0 ? [...found, { steps, next: 'none' }] : found;
  }

  private describeCall(requestId: string): string {
    const call = this.world.aws.admin.calls().find((each) => each.requestId === requestId);
    if (call === undefined) return expect.fail(`the emulator has no call ${requestId}`);
    const { operation, identifiers, errorCode } = call;
    const name = identifiers['RoleName'] ?? identifiers['fargateProfileName'];
    return [operation, ...(name === undefined ? [] : [name]), ...(errorCode === undefined ? [] : [errorCode])].join(
      ' ',
    );
  }
}

function describeReconcile({ steps, next }: Reconcile): string {
  const reads = steps.filter((step) => step.includes('FargateProfile'));
  const isSurvey = reads.some((step) => step === 'ListFargateProfiles');
  const isGlance = reads[0]?.startsWith('DescribeFargateProfile') === true;
  const kind = !isSurvey ? 'Glance' : isGlance ? 'Glance, then survey' : 'Survey';
  return [`${kind}; next: ${next}`, ...steps.map((step) => `   ${step}`)].join('\n');
}

/** AWS takes the same time for each call, so that it answers calls in the order in which they are sent. */
const IN_ORDER = { aws: { latencyMs: [20, 20] } } as const;

const golden = (name: string): URL => new URL(`stories/${name}.golden`, import.meta.url);

describe('reconcile by reconcile,', () => {
  it('an object is created and replaced', async () => {
    const world = new ReplaceableWorld(IN_ORDER);
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
    const world = new SimulatedWorld(IN_ORDER);
    const story = new Story(world);
    for (const name of ['web', 'api']) world.applyWith(name, { roleName: 'shared' });
    await world.ready('web', 'api');
    story.tell('');
    world.delete('web');
    await world.gone('web');
    expectGolden(golden('delete-with-shared-role'), story.tell('An object is deleted. Another object uses its role.'));
    await world.deleteAndFinish('api');
  });

  it('a Cluster and its control plane are deleted', async () => {
    const world = new SimulatedWorld(IN_ORDER);
    const story = new Story(world);
    world.applyWith('web', {});
    await world.ready('web');
    story.tell('');
    deleteHeld(world, 'clusters', CLUSTER);
    await world.clock.advance(MINUTE);
    const cluster = story.tell('The Cluster is being deleted, and its control plane is not.');
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    await world.gone('web');
    await world.clock.advance(MINUTE);
    expectGolden(golden('teardown'), [cluster, story.tell('The control plane is being deleted.')].join('\n'));
  });
});
