import { FAULTS } from './fault-cases.ts';
import { describeGrid } from './fault-grid-tests.ts';

/**
 * All faults except `kill`. whole-kills.test.ts has the fault cases with `kill`, because they run in groups that share
 * one kill of the manager.
 */
const FAULTS_OF_CALLS = FAULTS.filter((fault) => fault !== 'kill');

describeGrid('fault grid, all cases except kills', FAULTS_OF_CALLS);
