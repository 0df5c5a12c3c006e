import { allMoments } from './moment.ts';
import { describeTeardownKills } from './report.ts';
import { LANES } from './teardowns.ts';

describeTeardownKills('at every call', allMoments, LANES);
