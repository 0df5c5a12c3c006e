import { describeGrid } from './report.ts';

describeGrid('fault grid, all kills', (cells) => cells, ['kill']);
