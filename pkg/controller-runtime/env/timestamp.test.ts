import { expect } from 'chai';
import { formatAge } from './timestamp.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

describe('the age of an object', () => {
  for (const [age, text] of [
    [-5 * SECOND, '0s'],
    [119 * SECOND, '119s'],
    [120 * SECOND, '2m'],
    [2 * HOUR - 1, '119m'],
    [47 * HOUR, '47h'],
    [48 * HOUR, '2d'],
    [400 * 24 * HOUR, '400d'],
  ] as const)
    it(`of ${age} ms is ${text}`, () => {
      expect(formatAge(age)).to.equal(text);
    });
});
