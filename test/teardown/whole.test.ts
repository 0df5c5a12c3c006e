import { allKillPoints } from './kill-points.ts';
import { describeTeardownKills } from './report.ts';
import { WORKERS } from './teardown-runner.ts';

describeTeardownKills('at every call', allKillPoints, WORKERS);
