import { allKillPoints } from './kill-points.ts';
import { describeTeardownKills } from './kill-tests.ts';
import { WORKERS } from './teardown-runner.ts';

describeTeardownKills('at every call', allKillPoints, WORKERS);
