import { sampleKillPoints } from '../../teardown/kill-points.ts';
import { describeTeardownKills } from '../../teardown/kill-tests.ts';

/**
 * The number of moments for a kill of the manager that the test adds to those before and after each AWS call that
 * changes AWS. They are spread evenly over all AWS calls.
 */
const READS = 4;

describeTeardownKills('before and after each mutation, and at some other calls', (calls) =>
  sampleKillPoints(calls, READS),
);
