import { describeTeardownKills } from './kill-tests.ts';
import { WORKERS } from './teardown-runner.ts';

describeTeardownKills(WORKERS);
