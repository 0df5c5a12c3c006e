import { styleText } from 'node:util';
import { toPrintableLine } from 'controller-runtime/text';

/**
 * `unchecked` means that the command could not look, because it lacks a permission, or because AWS or the API server
 * does not answer. Such a row does not count as a problem of the installation.
 */
export type Result = 'ok' | 'warning' | 'problem' | 'unchecked';

export const COLORS = { ok: 'green', warning: 'yellow', problem: 'red', unchecked: 'dim' } as const;

/** A resource in Kubernetes or AWS, with the resources that belong to it. The texts may come from users and AWS. */
export interface TreeNode {
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly result: Result;
  /** The key `freeAddresses` is shown as `free addresses: 4`. */
  readonly facts?: Readonly<Record<string, string | number>>;
  readonly message?: string;
  readonly children?: readonly TreeNode[];
}

/** On a terminal, lines connect the nodes. In a pipe, each level is indented by two spaces. */
export function renderTree(root: TreeNode, isTerminal: boolean, indent = ''): readonly string[] {
  const { children = [] } = root;
  const below = children.flatMap((child, index) => {
    const isLast = index === children.length - 1;
    const [branch, next] = !isTerminal ? ['  ', '  '] : isLast ? ['└─ ', '   '] : ['├─ ', '│  '];
    const [line = '', ...rest] = renderTree(child, isTerminal, indent + next);
    return [`${indent}${branch}${line}`, ...rest];
  });
  return [lineOf(root), ...below];
}

function lineOf({ kind, name, state, result, facts = {}, message = '' }: TreeNode): string {
  const parts = Object.entries(facts).map(([key, value]) => `${inWords(key)}: ${value}`);
  const rest = [...parts, message].filter((text) => text !== '').map((text) => `, ${toPrintableLine(text)}`);
  return `${toPrintableLine(`${kind} ${name}`)}: ${styleText(COLORS[result], toPrintableLine(state))}${rest.join('')}`;
}

const inWords = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
