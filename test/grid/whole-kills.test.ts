import { describeGrid } from './fault-grid-tests.ts';

describeGrid('fault grid, all kills', ['kill']);
