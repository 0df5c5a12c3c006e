import { expect } from 'chai';
import { Page } from './page.ts';

function written(columns: number | undefined, write: (page: Page) => void): string {
  let text = '';
  write(new Page({ columns, write: (piece: string) => (text += piece) }));
  return text;
}

describe('the page of the demo', () => {
  it('puts cells in columns, without blanks at the end', () => {
    const text = written(undefined, (page) => {
      page.row(['one', 'two', 'three'], [5, 6]);
      page.row(['1', '2'], [5, 6]);
      page.row(['', 'below'], [5]);
    });
    expect(text).to.equal('one  two   three\n1    2\n     below\n');
  });

  it('continues the last cell below its beginning where a terminal has no more room', () => {
    const words = 'a message of several words that is longer than what is left';
    const row = (page: Page): void => page.row(['0.1 s', words], [10]);
    expect(written(50, row)).to.equal(
      '0.1 s     a message of several words that is\n          longer than what is left\n',
    );
    expect(written(undefined, row), 'no terminal').to.equal(`0.1 s     ${words}\n`);
    expect(written(20, row), 'too narrow to be read').to.equal(`0.1 s     ${words}\n`);
  });

  it('has no colours where it is no terminal', () => {
    const text = written(undefined, (page) => {
      page.heading('Heading');
      page.command('kubectl get awsfp');
      page.row(['True'], [], ['green']);
    });
    expect(text).to.equal('\nHeading\n$ kubectl get awsfp\nTrue\n');
  });
});
