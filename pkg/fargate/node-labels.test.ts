import { expect } from 'chai';
import { findNodeProblem } from './node-labels.ts';

const ZONE = 'topology.kubernetes.io/zone';
const REGION = 'topology.kubernetes.io/region';

describe('findNodeProblem', () => {
  const cases: readonly (readonly [expression: string, problem: string | undefined])[] = [
    ['kubernetes.io/arch In amd64', undefined],
    ['kubernetes.io/arch In arm64 amd64', undefined],
    ['kubernetes.io/arch In arm64', 'nodes of Fargate have kubernetes.io/arch=amd64'],
    ['kubernetes.io/arch NotIn arm64', undefined],
    ['kubernetes.io/arch NotIn amd64', 'nodes of Fargate have kubernetes.io/arch=amd64'],
    ['beta.kubernetes.io/arch In arm64', 'nodes of Fargate have beta.kubernetes.io/arch=amd64'],
    ['kubernetes.io/os In windows', 'nodes of Fargate have kubernetes.io/os=linux'],
    ['eks.amazonaws.com/compute-type In fargate', undefined],
    ['eks.amazonaws.com/compute-type In ec2', 'nodes of Fargate have eks.amazonaws.com/compute-type=fargate'],
    ['eks.amazonaws.com/compute-type NotIn fargate', 'nodes of Fargate have eks.amazonaws.com/compute-type=fargate'],
    ['eks.amazonaws.com/compute-type Exists', undefined],
    ['eks.amazonaws.com/compute-type DoesNotExist', 'nodes of Fargate have the label eks.amazonaws.com/compute-type'],
    ['nature In ci', 'nodes of Fargate have no label nature'],
    ['nature NotIn ci', undefined],
    ['nature Exists', 'nodes of Fargate have no label nature'],
    ['nature DoesNotExist', undefined],
    ['nature Gt 3', 'nodes of Fargate have no label nature'],
    ['kubernetes.io/arch Lt 3', 'the label kubernetes.io/arch of nodes of Fargate is no number'],
    ['node.kubernetes.io/instance-type In m5.large', 'nodes of Fargate have no label node.kubernetes.io/instance-type'],
    [`${ZONE} In eu-west-1c`, undefined],
    [`${ZONE} NotIn eu-west-1c`, undefined],
    [`${ZONE} In us-east-1a`, 'nodes of Fargate are in region eu-west-1'],
    [`${ZONE} In us-east-1a eu-west-1b`, undefined],
    [`${ZONE} In eu-west-1-lim-1a`, 'nodes of Fargate are in region eu-west-1'],
    [`${REGION} In eu-west-1`, undefined],
    [`${REGION} In us-east-1`, 'nodes of Fargate are in region eu-west-1'],
    [`${REGION} NotIn eu-west-1`, `nodes of Fargate have ${REGION}=eu-west-1`],
    ['kubernetes.io/hostname Exists', undefined],
    ['kubernetes.io/hostname NotIn node-1', undefined],
    ['kubernetes.io/hostname In node-1', 'each pod gets a new node of Fargate, whose name nobody knows before'],
    ['constructor Exists', 'nodes of Fargate have no label constructor'],
  ];
  for (const [expression, problem] of cases)
    it(`${expression}: ${problem ?? 'can be met'}`, () => {
      const [key = '', operator = '', ...values] = expression.split(' ');
      expect(findNodeProblem({ key, operator, values }, 'eu-west-1')).to.equal(problem);
    });
});
