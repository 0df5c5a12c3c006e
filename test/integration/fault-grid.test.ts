import { sample } from '../grid/cells.ts';
import { describeGrid } from '../grid/report.ts';

/** Any number does; always the same one, so that a failure comes again. */
const SEED = 1;

describeGrid('fault grid, a sample', (cells) => sample(cells, SEED));
