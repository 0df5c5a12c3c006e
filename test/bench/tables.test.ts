import { expect } from 'chai';
import { countCalls } from './calls.ts';
import { median, mediansOf, missesAim, type Column } from './figures.ts';
import { callTable, figureTable } from './tables.ts';

const cellsOf = (table: string): readonly (readonly string[])[] =>
  table.split('\n').map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe('the median', () => {
  it('is the middle value in any order', () => {
    expect(median([9, 1, 5])).to.equal(5);
  });

  it('is the mean of the two middle values', () => {
    expect(median([4, 1, 100, 2])).to.equal(3);
  });

  it('is taken of each figure of a column', () => {
    const run = (created: number, deleted: number): readonly Column[] => [
      {
        name: 'fleet',
        figures: [
          { label: 'created', value: created },
          { label: 'deleted', value: deleted, aim: 3 },
        ],
      },
    ];
    expect(mediansOf([run(1, 9), run(8, 2), run(5, 4)])).to.deep.equal(run(5, 4));
  });
});

describe('an aim', () => {
  it('is missed by a higher figure, as the table shows it', () => {
    expect(missesAim({ label: '', value: 1.31, digits: 2, aim: 1.3 })).to.equal(true);
    expect(missesAim({ label: '', value: 1.304, digits: 2, aim: 1.3 })).to.equal(false);
    expect(missesAim({ label: '', value: 0.4, aim: 0 })).to.equal(false);
  });

  it('is missed by no figure that has none', () => {
    expect(missesAim({ label: '', value: 1_000 })).to.equal(false);
  });
});

describe('the table of figures', () => {
  it('shows each figure beside its aim, and bold if it misses the aim', () => {
    const table = figureTable([
      {
        name: 'CONFIG_MAP',
        figures: [
          { label: 'calls', value: 13, aim: 12 },
          { label: 'writes', value: 0, aim: 0 },
        ],
      },
      {
        name: 'API',
        figures: [
          { label: 'calls', value: 13, aim: 14 },
          { label: 'seconds', value: 2, digits: 2 },
        ],
      },
    ]);
    expect(cellsOf(table).toSpliced(1, 1)).to.deep.equal([
      ['', 'Aim', 'CONFIG_MAP', 'API'],
      ['calls', '≤ 12, ≤ 14', '**13**', '13'],
      ['writes', '0', '0', ''],
      ['seconds', '', '', '2.00'],
    ]);
  });

  it('leaves out a figure that was not measured', () => {
    const table = figureTable([{ name: 'x', figures: [{ label: 'memory', value: Number.NaN, aim: 1 }] }]);
    expect(cellsOf(table).at(-1)).to.deep.equal(['memory', '≤ 1', '']);
  });
});

describe('the table of calls', () => {
  it('counts the answers of each operation in each phase', () => {
    const counts = (answers: Readonly<Record<string, number>>) => ({
      ...countCalls([]),
      byOperation: { 'iam:GetRole': answers },
    });
    const table = callTable([
      {
        name: '1 × 1',
        figures: [],
        calls: { create: counts({ 200: 2, NoSuchEntity: 1 }), delete: counts({ 200: 4 }) },
      },
    ]);
    expect(cellsOf(table).toSpliced(1, 1)).to.deep.equal([
      ['Operation', 'Answer', '1 × 1: create', '1 × 1: delete'],
      ['iam:GetRole', '200', '2', '4'],
      ['iam:GetRole', 'NoSuchEntity', '1', '0'],
    ]);
  });
});
