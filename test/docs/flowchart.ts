export interface Edge {
  /** `from` and `to` are the names of the two nodes of an edge, as the flowchart displays them. */
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

const NODE = /^ *(\w+)(?:\[([^\]]+)\])?$/;
const EDGE = /^ *(\w+) -->\|"([^"]+)"\| (\w+)$/;
const OTHER = /^ *(flowchart \w+|subgraph .*|end)?$/;

/**
 * Reads the edges of a Mermaid flowchart.
 * @throws if the function does not know the form of a line, because the line could be an edge
 */
export function parseFlowchart(text: string): readonly Edge[] {
  const names = new Map<string, string>();
  const edges: Edge[] = [];
  const nameOf = (id = ''): string => names.get(id) ?? unknownLine(`node ${id}`);
  for (const line of text.split('\n')) {
    const edge = EDGE.exec(line);
    const node = OTHER.test(line) ? null : NODE.exec(line);
    if (edge !== null) edges.push({ from: nameOf(edge[1]), label: edge[2] ?? '', to: nameOf(edge[3]) });
    else if (node !== null) names.set(node[1] ?? '', node[2] ?? node[1] ?? '');
    else if (!OTHER.test(line)) unknownLine(line);
  }
  return edges;
}

function unknownLine(line: string): never {
  throw new Error(`not understood in the flowchart: ${line}`);
}
