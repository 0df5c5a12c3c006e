import { someMoments } from '../teardown/moment.ts';
import { describeTeardownKills } from '../teardown/report.ts';

/** Calls that change nothing; each change is there anyway. */
const READS = 4;

describeTeardownKills('before and after each change, and at some other calls', (calls) => someMoments(calls, READS));
