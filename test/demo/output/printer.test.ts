import { expect } from 'chai';
import { Printer } from './printer.ts';

function written(columns: number | undefined, write: (printer: Printer) => void): string {
  let text = '';
  write(new Printer({ columns, write: (piece: string) => (text += piece) }));
  return text;
}

describe('the printer of the demo', () => {
  it('aligns cells in columns without trailing blanks', () => {
    const text = written(undefined, (printer) => {
      printer.row(['one', 'two', 'three'], [5, 6]);
      printer.row(['1', '2'], [5, 6]);
      printer.row(['', 'below'], [5]);
    });
    expect(text).to.equal('one  two   three\n1    2\n     below\n');
  });

  it('wraps the last cell under its own column on a terminal', () => {
    const words = 'a message of several words that is longer than what is left';
    const row = (printer: Printer): void => printer.row(['0.1 s', words], [10]);
    expect(written(50, row)).to.equal(
      '0.1 s     a message of several words that is\n          longer than what is left\n',
    );
    expect(written(undefined, row), 'no terminal').to.equal(`0.1 s     ${words}\n`);
    expect(written(20, row), 'too narrow to be read').to.equal(`0.1 s     ${words}\n`);
  });

  it('uses no colours without a terminal', () => {
    const text = written(undefined, (printer) => {
      printer.heading('Heading');
      printer.command('kubectl get awsfp');
      printer.row(['True'], [], ['green']);
    });
    expect(text).to.equal('\nHeading\n$ kubectl get awsfp\nTrue\n');
  });
});
