import { expect } from 'chai';
import { cpuSecondsOf, memoryOf, parseBusySeconds, parseCpuSeconds } from './processes.ts';

describe('The processor time of a process', () => {
  it('is its user time and its system time, whatever the name of the process is', () => {
    const rest = 'S 1 2 3 0 -1 4194304 10 20 30 40 1234 66 7 8 20 0 11 0 99';
    expect(parseCpuSeconds(`77 (node) ${rest}`)).to.equal(13);
    expect(parseCpuSeconds(`77 (a) b (c) ${rest}`)).to.equal(13);
  });

  it('is 0 for a process that does not exist', async () => {
    expect(await cpuSecondsOf(2 ** 30)).to.equal(0);
    expect(await memoryOf(2 ** 30)).to.equal(undefined);
  });
});

describe('The processor time of the machine', () => {
  it('has neither idle time nor the time of other machines', () => {
    const stat = 'cpu  100 20 300 99999 8888 4 50 7777 666 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n';
    expect(parseBusySeconds(stat)).to.equal(4.74);
  });
});
