import { expect } from 'chai';
import { Bench } from './bench.ts';

describe('throttling', () => {
  it('is a token bucket for each account, region and operation', () => {
    const bench = new Bench();
    bench.model.world.config = { ...bench.model.world.config, throttle: { perSecond: 2, burst: 2 } };
    const describeTwice = (): readonly string[] =>
      [1, 2].map(() => {
        const answer = bench.model.execute({
          service: 'eks',
          operation: 'DescribeCluster',
          input: { name: 'c' },
          principal: bench.caller,
          region: 'eu-west-1',
          now: bench.now,
        });
        return answer.kind === 'output' ? 'ok' : answer.error.code;
      });
    expect(describeTwice()).to.deep.equal(['ok', 'ok']);
    expect(describeTwice()).to.deep.equal(['ThrottlingException', 'ThrottlingException']);
    bench.run('eks', 'ListClusters', {});
    bench.pass(500);
    expect(describeTwice()).to.deep.equal(['ok', 'ThrottlingException']);
    bench.pass(60_000);
    expect([...describeTwice(), ...describeTwice()].filter((answer) => answer === 'ok')).to.have.length(2);
  });
});
