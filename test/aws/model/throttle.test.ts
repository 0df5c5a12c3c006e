import { expect } from 'chai';
import { ModelFixture } from './model-fixture.ts';

describe('throttling', () => {
  it('uses a token bucket per account, region and operation', () => {
    const fixture = new ModelFixture();
    fixture.model.state.config = { ...fixture.model.state.config, throttle: { perSecond: 2, burst: 2 } };
    const describeTwice = (): readonly string[] =>
      [1, 2].map(() => {
        const answer = fixture.model.execute({
          service: 'eks',
          operation: 'DescribeCluster',
          input: { name: 'c' },
          principal: fixture.caller,
          region: 'eu-west-1',
          now: fixture.now,
        });
        return answer.kind === 'output' ? 'ok' : answer.error.code;
      });
    expect(describeTwice()).to.deep.equal(['ok', 'ok']);
    expect(describeTwice()).to.deep.equal(['ThrottlingException', 'ThrottlingException']);
    fixture.run('eks', 'ListFargateProfiles', { clusterName: 'c' });
    fixture.advance(500);
    expect(describeTwice()).to.deep.equal(['ok', 'ThrottlingException']);
    fixture.advance(60_000);
    expect([...describeTwice(), ...describeTwice()].filter((answer) => answer === 'ok')).to.have.length(2);
  });
});
