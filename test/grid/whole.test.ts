import { describeGrid } from './report.ts';

describeGrid('fault grid, the whole', (cells) => cells);
