import { allMoments } from './moment.ts';
import { describeTeardownKills } from './report.ts';

describeTeardownKills('at every call', allMoments);
