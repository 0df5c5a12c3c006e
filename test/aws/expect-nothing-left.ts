import { expect } from 'chai';
import type { WorldView } from './admin.ts';

/** What somebody has to clean up: every profile, role and cluster that neither a test nor a stranger put there. */
export function leftovers(world: WorldView): readonly string[] {
  return [
    ...world.profiles.filter(({ foreign }) => !foreign).map(({ arn, status }) => `${arn} ${status}`),
    ...world.roles.filter(({ foreign }) => !foreign).map(({ arn }) => arn),
    ...world.clusters.filter(({ foreign }) => !foreign).map(({ arn }) => arn),
  ];
}

/** For the end of a suite; takes `emulator.admin` or the admin of an emulator in another process. */
export async function expectNothingLeft(admin: {
  readonly world: () => WorldView | Promise<WorldView>;
}): Promise<void> {
  const world = await admin.world();
  expect(leftovers(world), 'left in AWS').to.deep.equal([]);
  expect(world.incidents, 'what must never happen').to.deep.equal([]);
}
