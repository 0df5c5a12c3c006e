import { FAULTS } from './fault-cases.ts';
import { describeGrid } from './report.ts';

/**
 * All faults except `kill`. The fault cases with `kill` are in whole-kills.test.ts, because one kill of the manager
 * affects 24 fault cases.
 */
const FAULTS_OF_CALLS = FAULTS.filter((fault) => fault !== 'kill');

describeGrid('fault grid, all cases except kills', (cells) => cells, FAULTS_OF_CALLS);
