import { sampleKillPoints } from '../../teardown/kill-points.ts';
import { describeTeardownKills } from '../../teardown/kill-tests.ts';

/**
 * The test kills the manager before and after each AWS call that changes AWS. It also kills the manager after this
 * number of further AWS calls, which are spread evenly over all AWS calls of the teardown.
 */
const READS = 4;

describeTeardownKills('before and after each mutation, and at some other calls', (calls) =>
  sampleKillPoints(calls, READS),
);
