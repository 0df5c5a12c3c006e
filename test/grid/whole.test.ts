import { FAULTS } from './cells.ts';
import { describeGrid } from './report.ts';

/** Those with a kill are in a world of their own: there the manager is killed for two dozen cells at once. */
const FAULTS_OF_CALLS = FAULTS.filter((fault) => fault !== 'kill');

describeGrid('fault grid, the whole but for kills', (cells) => cells, FAULTS_OF_CALLS);
