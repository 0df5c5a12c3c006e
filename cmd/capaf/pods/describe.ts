import { styleText } from 'node:util';
import { formatAge, type Ms, parseTimestamp } from 'controller-runtime/env';
import { toPrintableLine } from 'controller-runtime/text';
import type { Size } from '../../../pkg/fargate/pod-size.ts';
import { alignColumns } from '../io.ts';
import type { FargatePod } from './read.ts';
import type { reportOf } from './run.ts';

type Report = ReturnType<typeof reportOf> & { readonly namespace: string | null };

const HEADER = ['POD', 'STATE', 'ASKED', 'BILLED', 'VERSION', 'OWNER', 'EVICTION', 'AGE'];

export function describePods({ namespace, controlPlane, profiles, total, renewals, unseen }: Report, now: Ms): string {
  const where = namespace === null ? 'all namespaces' : `namespace ${namespace}`;
  const of = controlPlane === null ? '' : `; the control plane is ${controlPlane}`;
  const lines = [title(`Fargate pods in ${where}: ${totalText(total)}${of}`)];
  const pods = profiles.flatMap((profile) => profile.pods);
  const [header = '', ...rows] = alignColumns([HEADER, ...pods.map((pod) => rowOf(pod, now))]);
  for (const { name, total: ofProfile, pods: own } of profiles) {
    lines.push('', title(`Fargate profile ${name}: ${totalText(ofProfile)}`), `  ${header}`);
    for (const [index, row] of rows.splice(0, own.length).entries()) lines.push(...linesOf(own[index], row));
  }
  const renew = alignColumns(
    renewals.map(({ owner, pods: count, commands, note }) => [owner, `pods: ${count}`, note ?? commands.join(' && ')]),
  );
  const sections = { 'To recreate them:': renew, 'Not seen:': unseen.map(toPrintableLine) };
  for (const [name, texts] of Object.entries(sections))
    if (texts.length > 0) lines.push('', title(name), ...texts.map((text) => `  ${text}`));
  return `${lines.join('\n')}\n`;
}

const title = (text: string): string => styleText('bold', toPrintableLine(text));

function totalText({ pods, outdated, pending, refused, ...size }: Report['total']): string {
  const found = Object.entries({ outdated, pending, refused }).filter(([, count]) => count > 0);
  return [`${pods}`, ...found.map(([what, count]) => `${what}: ${count}`), `billed: ${sizeText(size)}`].join(', ');
}

function rowOf(pod: FargatePod, now: Ms): readonly string[] {
  const { namespace, name, state, asked, billed, version, outdated, owner, eviction, createdAt } = pod;
  const created = parseTimestamp(createdAt ?? '') ?? now;
  const by = eviction === null || eviction.budgets.length === 0 ? '' : ` by ${eviction.budgets.join(' and ')}`;
  return [
    `${namespace}/${name}`,
    state,
    sizeText(asked),
    billed === null ? 'too large' : sizeText(billed),
    `${version ?? 'none'}${outdated ? ', outdated' : ''}`,
    owner === null ? 'none' : `${owner.kind} ${owner.name}`,
    eviction === null ? 'not seen' : `${eviction.allowed ? 'allowed' : 'refused'}${by}`,
    formatAge(now - created),
  ];
}

function linesOf(pod: FargatePod | undefined, row: string): readonly string[] {
  const isWrong = pod?.state === 'Refused';
  const color = isWrong ? 'red' : pod?.outdated === true || pod?.state === 'Pending' ? 'yellow' : 'reset';
  const said = pod?.message ?? '';
  return [`  ${styleText(color, row)}`, ...(said === '' ? [] : [`    → ${toPrintableLine(said)}`])];
}

/** A GB has 1,024 MiB here, as in AWS. */
const sizeText = ({ vCPU, memoryGB }: Size): string => `${rounded(vCPU)} vCPU ${rounded(memoryGB)} GB`;

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
