/**
 * The graph of the fair transitions between the states 0 to n-1. The transitions from state s are in `targets` and
 * `agents`, from the index `firsts[s]` up to, but without, the index `firsts[s + 1]`.
 */
export interface FairGraph {
  readonly firsts: Int32Array;
  readonly targets: Int32Array;
  /** The agent of each transition, as a number below 32. */
  readonly agents: Uint8Array;
}

/**
 * Returns the sets of states in which a run can stay forever under strong fairness: an agent that can act again and
 * again also acts again and again. Each set is a strongly connected component. Every agent that can act in one of its
 * states has a transition that stays in the component. If an agent has no such transition, the function removes the
 * states in which this agent can act from the component, and searches the remaining states again.
 */
export function fairComponents(graph: FairGraph): readonly (readonly number[])[] {
  const all = Int32Array.from({ length: graph.firsts.length - 1 }, (_, state) => state);
  const found: (readonly number[])[] = [];
  const region = new Int32Array(all.length).fill(0);
  let regions = 0;
  const open: (readonly number[] | Int32Array)[] = [all];
  for (let states = open.pop(); states !== undefined; states = open.pop()) {
    const mark = ++regions;
    for (const state of states) region[state] = mark;
    for (const component of components(graph, states, region, mark)) {
      const own = ++regions;
      for (const state of component) region[state] = own;
      const { enabled, inside } = agentsOf(graph, component, region, own);
      const starved = enabled & ~inside;
      if (starved === 0) {
        found.push(component);
        continue;
      }
      const rest = component.filter((state) => (agentsOf(graph, [state], region, own).enabled & starved) === 0);
      if (rest.length > 0) open.push(rest);
    }
  }
  return found;
}

function agentsOf(graph: FairGraph, component: readonly number[], region: Int32Array, own: number) {
  const { firsts, targets, agents } = graph;
  let [enabled, inside] = [0, 0];
  for (const state of component) {
    for (let at = firsts[state] ?? 0; at < (firsts[state + 1] ?? 0); at++) {
      const bit = 1 << (agents[at] ?? 0);
      enabled |= bit;
      if (region[targets[at] ?? 0] === own) inside |= bit;
    }
  }
  return { enabled, inside };
}

/** Tarjan's strongly connected components of the states with this mark, without recursion. */
function* components(
  { firsts, targets }: FairGraph,
  states: readonly number[] | Int32Array,
  region: Int32Array,
  mark: number,
): Generator<readonly number[]> {
  const order = new Map<number, number>();
  const low = new Map<number, number>();
  const onStack = new Set<number>();
  const stack: number[] = [];
  let next = 0;
  for (const root of states) {
    if (order.has(root)) continue;
    const calls: [state: number, at: number][] = [[root, firsts[root] ?? 0]];
    order.set(root, next);
    low.set(root, next++);
    stack.push(root);
    onStack.add(root);
    for (let call = calls.at(-1); call !== undefined; call = calls.at(-1)) {
      const [state, at] = call;
      if (at < (firsts[state + 1] ?? 0)) {
        call[1]++;
        const target = targets[at] ?? 0;
        if (region[target] !== mark) continue;
        if (!order.has(target)) {
          order.set(target, next);
          low.set(target, next++);
          stack.push(target);
          onStack.add(target);
          calls.push([target, firsts[target] ?? 0]);
        } else if (onStack.has(target)) {
          low.set(state, Math.min(low.get(state) ?? 0, order.get(target) ?? 0));
        }
        continue;
      }
      calls.pop();
      const [parent] = calls.at(-1) ?? [];
      if (parent !== undefined) low.set(parent, Math.min(low.get(parent) ?? 0, low.get(state) ?? 0));
      if (low.get(state) !== order.get(state)) continue;
      const component: number[] = [];
      for (let each = stack.pop(); each !== undefined; each = stack.pop()) {
        onStack.delete(each);
        component.push(each);
        if (each === state) break;
      }
      yield component;
    }
  }
}
