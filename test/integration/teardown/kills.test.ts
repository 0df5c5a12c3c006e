import { sampleKillPoints } from '../../teardown/kill-points.ts';
import { describeTeardownKills } from '../../teardown/report.ts';

/**
 * The number of kill points that the test adds to those before and after each mutating AWS call. The added kill points
 * are spread evenly over all AWS calls.
 */
const READS = 4;

describeTeardownKills('before and after each mutation, and at some other calls', (calls) =>
  sampleKillPoints(calls, READS),
);
