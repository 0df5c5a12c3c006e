import { sampleFaultCases } from '../../grid/fault-cases.ts';
import { describeGrid } from '../../grid/fault-grid-tests.ts';

/** The seed of the random sample of fault cases. It is constant, so that a failure can be reproduced. */
const SEED = 1;

describeGrid('a sample of the fault grid', (cells) => sampleFaultCases(cells, SEED));
