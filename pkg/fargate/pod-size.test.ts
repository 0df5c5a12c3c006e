import { expect } from 'chai';
import { parseQuantity, provisionedSize, requestedSize, sizeOfSpec } from './pod-size.ts';

const container = (cpu?: unknown, memory?: unknown, more: object = {}): unknown => ({
  resources: { requests: { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) } },
  ...more,
});

const billedSize = (containers: readonly unknown[], initContainers: readonly unknown[], resources: object = {}) =>
  sizeOfSpec({ containers, initContainers, resources });

/** Returns the memory that a pod can request of this many GB: 256 MiB of it are for Kubernetes. */
const mib = (gigabytes: number): number => gigabytes * 1024 - 256;

/** The table of https://docs.aws.amazon.com/eks/latest/userguide/fargate-pod-configuration.html, written out. */
const ROWS: readonly (readonly [cpu: string, vCPU: number, memoryGB: readonly number[]])[] = [
  ['250m', 0.25, [0.5, 1, 2]],
  ['500m', 0.5, [1, 2, 3, 4]],
  ['1', 1, [2, 3, 4, 5, 6, 7, 8]],
  ['2', 2, [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]],
  ['4', 4, [8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]],
  ['8', 8, [16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60]],
  ['16', 16, [32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120]],
];

describe('The billed size of a pod', () => {
  for (const [row, [cpu, vCPU, steps]] of ROWS.entries())
    for (const [index, memoryGB] of steps.entries())
      it(`is ${vCPU} vCPU with ${memoryGB} GB up to ${cpu} and ${mib(memoryGB)}Mi, and the next for more`, () => {
        expect(billedSize([container(cpu, `${mib(memoryGB)}Mi`)], [])).to.deep.equal({ vCPU, memoryGB });
        const [nextCpu, nextSteps] = [ROWS[row + 1]?.[1], ROWS[row + 1]?.[2]];
        const next =
          steps[index + 1] !== undefined
            ? { vCPU, memoryGB: steps[index + 1] }
            : nextCpu && { vCPU: nextCpu, memoryGB: nextSteps?.find((step) => step > memoryGB) };
        const oneByteMore = String(mib(memoryGB) * 1024 * 1024 + 1);
        expect(billedSize([container(cpu, oneByteMore)], [])).to.deep.equal(next);
      });

  it('grows with the CPU too, and not beyond 16 vCPU', () => {
    expect(billedSize([container('251m')], [])).to.deep.equal({ vCPU: 0.5, memoryGB: 1 });
    expect(billedSize([container('4001m', '1Gi')], [])).to.deep.equal({ vCPU: 8, memoryGB: 16 });
    expect(billedSize([container('16001m')], [])).to.equal(undefined);
  });

  const cases: readonly (readonly [string, readonly unknown[], readonly unknown[], object])[] = [
    ['the smallest without requests', [{}], [], { vCPU: 0.25, memoryGB: 0.5 }],
    ['the sum of the containers', [container('300m'), container('200m')], [], { vCPU: 0.5, memoryGB: 1 }],
    ['exact with decimal fractions', Array(10).fill(container('0.1')), [], { vCPU: 1, memoryGB: 2 }],
    [
      'that of the largest init container',
      [container(1)],
      [container(2), container('1500m')],
      { vCPU: 2, memoryGB: 4 },
    ],
    ['of CPU and memory each the larger', [container(2, '1Gi')], [container(1, '6Gi')], { vCPU: 2, memoryGB: 7 }],
    ['with sidecars', [container(1)], [container(1, 0, { restartPolicy: 'Always' })], { vCPU: 2, memoryGB: 4 }],
    [
      'that of limits where there are no requests',
      [{ resources: { limits: { cpu: '4' } } }],
      [],
      { vCPU: 4, memoryGB: 8 },
    ],
  ];
  for (const [name, containers, initContainers, size] of cases)
    it(`is ${name}`, () => expect(billedSize(containers, initContainers)).to.deep.equal(size));
});

describe('The billed size of a pod, with sidecars and resources of its own,', () => {
  const sidecar = (cpu: number) => container(cpu, 0, { restartPolicy: 'Always' });

  it('is that of an init container together with the sidecars before it', () => {
    expect(billedSize([container(1)], [sidecar(1), container(3)])).to.deep.equal({ vCPU: 4, memoryGB: 8 });
    expect(billedSize([container(1)], [container(3), sidecar(1)])).to.deep.equal({ vCPU: 4, memoryGB: 8 });
    expect(billedSize([container(1)], [container('1900m'), sidecar(1)])).to.deep.equal({ vCPU: 2, memoryGB: 4 });
  });

  it('is that of the resources of the pod, where it has them', () => {
    const containers = [container(1, '1Gi')];
    expect(billedSize(containers, [], { requests: { cpu: 4 } })).to.deep.equal({ vCPU: 4, memoryGB: 8 });
    expect(billedSize(containers, [], { limits: { cpu: 4 } })).to.deep.equal({ vCPU: 1, memoryGB: 2 });
    expect(billedSize([{}], [], { limits: { cpu: 4, memory: '9Gi' } })).to.deep.equal({ vCPU: 4, memoryGB: 10 });
  });

  it('is more than the pod requests, because Fargate adds memory and has certain sizes only', () => {
    const initContainers = [container(1, '1Gi')];
    const spec = { containers: [container('300m', '512Mi')], initContainers };
    expect(requestedSize(spec)).to.deep.equal({ vCPU: 1, memoryGB: 1 });
    expect(sizeOfSpec(spec)).to.deep.equal({ vCPU: 1, memoryGB: 2 });
  });

  it('is the one that Fargate has written to the pod', () => {
    expect(provisionedSize('0.25vCPU 0.5GB')).to.deep.equal({ vCPU: 0.25, memoryGB: 0.5 });
    expect(provisionedSize('16vCPU 120GB')).to.deep.equal({ vCPU: 16, memoryGB: 120 });
    for (const other of ['', '0.25 vCPU', 'xvCPU yGB', '1vCPU 2GB '])
      expect(provisionedSize(other), other).to.equal(undefined);
    expect(provisionedSize(undefined)).to.equal(undefined);
  });
});

describe('parseQuantity', () => {
  const cases: readonly (readonly [unknown, number | undefined])[] = [
    ['0', 0],
    [1, 1000],
    [0.5, 500],
    ['250m', 250],
    ['100u', 1],
    ['1n', 1],
    ['.5', 500],
    ['1.', 1000],
    ['+2', 2000],
    ['2k', 2_000_000],
    ['1.5Gi', 1_610_612_736_000],
    ['1Ei', 1_152_921_504_606_846_976_000],
    ['1E', 10 ** 21],
    ['1e3', 1_000_000],
    ['1E3', 1_000_000],
    ['12e-1', 1200],
    ['1Ki', 1_024_000],
    ['128974848000m', 128_974_848_000],
    ...['', '.', '-1', '1 Gi', '1KI', '1e', '1e999', 'Gi', '1.2.3', '0x10', null, true, {}, { toString: 1 }].map(
      (wrong): readonly [unknown, undefined] => [wrong, undefined],
    ),
  ];
  for (const [text, thousandths] of cases)
    it(`${JSON.stringify(text).slice(0, 20)} is ${thousandths ?? 'no quantity'}`, () =>
      expect(parseQuantity(text)).to.equal(thousandths));
});
