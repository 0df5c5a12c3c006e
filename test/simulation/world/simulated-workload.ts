import { expect } from 'chai';
import { sleep } from 'controller-runtime/async';
import type { TransportRequest, TransportResponse } from 'controller-runtime/client';
import { type Clock, formatTimestamp, type Ms } from 'controller-runtime/env';
import { isRecord, textAt } from 'controller-runtime/json';
import type { ServerAccess, ServerConnections } from 'controller-runtime/kubeconfig';

const LABEL = 'eks.amazonaws.com/fargate-profile';

export interface SimulatedPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly owner: { readonly kind: string; readonly name: string } | undefined;
  readonly createdAt: Ms;
  /** The end of the grace period. */
  deletionTimestamp?: Ms;
}

export interface Replicas {
  readonly namespace: string;
  readonly owner: SimulatedPod['owner'];
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * How the workload cluster's API server behaves. `silent`: it never answers. `endless`: its list of pods never ends.
 * `huge`: an answer is larger than the client accepts. `wrong`: a pod in its list has fields of a wrong type.
 */
type Mood = 'works' | 'silent' | 'unauthorized' | 'forbidden' | 'endless' | 'huge' | 'wrong';

/**
 * A workload cluster: its API server, its ReplicaSets and its kubelets. A pod that is evicted ends after its grace
 * period, and its controller then creates another one, which EKS gives to the profile that `takerOf` names.
 */
export class SimulatedWorkload {
  mood: Mood = 'works';
  grace: Ms = 5_000;
  /** Returns the API server's message for a pod that must not be evicted. */
  refusalOf: (pod: SimulatedPod) => string | undefined = () => undefined;
  /** What an admission webhook does with the eviction of a pod, instead of allowing it. */
  webhookOf: (pod: SimulatedPod) => 'denies' | 'hangs' | undefined = () => undefined;
  takerOf: (pod: Pick<SimulatedPod, 'namespace' | 'labels'>) => string = () => '';
  readonly pods = new Map<string, SimulatedPod>();
  /** The evictions that the API server has accepted, as `<namespace>/<name>`. */
  readonly evicted: string[] = [];
  requests = 0;
  inFlight = 0;
  mostInFlight = 0;
  private readonly clock: Clock;
  private made = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  create({ namespace, owner, labels = {} }: Replicas): SimulatedPod {
    this.made += 1;
    const name = `${owner?.name ?? 'bare'}-${String(this.made).padStart(4, '0')}`;
    const taker = this.takerOf({ namespace, labels });
    const pod: SimulatedPod = {
      namespace,
      name,
      labels: { ...labels, [LABEL]: taker },
      owner,
      createdAt: this.clock.now(),
    };
    this.pods.set(`${namespace}/${name}`, pod);
    return pod;
  }

  on(profile: string): readonly SimulatedPod[] {
    return [...this.pods.values()].filter(({ labels }) => labels[LABEL] === profile);
  }

  connect({ url, token }: ServerAccess): ServerConnections {
    expect(token).to.match(/^k8s-aws-v1\.[\w-]+$/);
    return { host: url.host, send: (request) => this.answer(request), close: async () => {} };
  }

  private async answer(request: TransportRequest): Promise<TransportResponse> {
    this.requests += 1;
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    try {
      await sleep(this.clock, this.mood === 'silent' ? 3_600_000 : 20, request.signal);
    } finally {
      this.inFlight -= 1;
    }
    const { pathname, searchParams } = new URL(request.path, 'https://workload');
    switch (this.mood) {
      case 'unauthorized':
        return status(401, 'Unauthorized', 'Unauthorized');
      case 'forbidden':
        return status(403, 'Forbidden', 'pods is forbidden: User "capaf" cannot list resource "pods"');
      case 'endless':
        return json(200, { kind: 'PodList', metadata: { resourceVersion: '1', continue: 'more' }, items: [] });
      case 'huge':
        return { status: 200, headers: {}, body: endlessBytes(request.signal, this.clock) };
      case 'wrong':
        return json(200, {
          kind: 'PodList',
          metadata: { resourceVersion: '1' },
          items: [{ metadata: { name: 'x', uid: 'u', resourceVersion: '1', labels: { app: 7 } } }],
        });
      default:
        return request.method === 'POST' ? await this.evict(pathname, request) : this.list(searchParams);
    }
  }

  private list(parameters: URLSearchParams): TransportResponse {
    const profile = (parameters.get('labelSelector') ?? '').slice(LABEL.length + 1);
    const limit = Number(parameters.get('limit'));
    const start = Number(parameters.get('continue') ?? 0);
    const all = this.on(profile);
    const items = all.slice(start, start + limit).map((pod) => ({
      metadata: {
        name: pod.name,
        namespace: pod.namespace,
        uid: `uid-of-${pod.name}`,
        resourceVersion: '1',
        creationTimestamp: formatTimestamp(pod.createdAt),
        ...(pod.deletionTimestamp !== undefined && { deletionTimestamp: formatTimestamp(pod.deletionTimestamp) }),
        labels: pod.labels,
        ...(pod.owner && {
          ownerReferences: [{ apiVersion: 'apps/v1', uid: 'owner', controller: true, ...pod.owner }],
        }),
      },
    }));
    const more = start + limit < all.length ? { continue: String(start + limit) } : {};
    return json(200, { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1', ...more }, items });
  }

  private async evict(path: string, { body = '', signal }: TransportRequest): Promise<TransportResponse> {
    const [, , , , namespace, , name] = path.split('/');
    const pod = this.pods.get(`${namespace}/${name}`);
    const eviction: unknown = JSON.parse(body);
    expect(isRecord(eviction) && textAt(eviction, 'kind')).to.equal('Eviction');
    if (pod === undefined) return status(404, 'NotFound', `pods "${name}" not found`);
    const webhook = this.webhookOf(pod);
    if (webhook === 'hangs') await sleep(this.clock, 3_600_000, signal);
    if (webhook !== undefined)
      return status(403, 'Forbidden', 'admission webhook "pods.example.com" denied the request: no disruption allowed');
    const refusal = this.refusalOf(pod);
    if (refusal !== undefined)
      return status(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", [
        { reason: 'DisruptionBudget', message: refusal },
      ]);
    if (pod.deletionTimestamp === undefined) {
      this.evicted.push(`${namespace}/${name}`);
      this.terminate(pod);
    }
    return json(201, { kind: 'Status', status: 'Success' });
  }

  private terminate(pod: SimulatedPod): void {
    pod.deletionTimestamp = this.clock.now() + this.grace;
    this.clock.after(this.grace, () => {
      this.pods.delete(`${pod.namespace}/${pod.name}`);
      const { [LABEL]: _taker, ...labels } = pod.labels;
      if (pod.owner !== undefined) this.create({ namespace: pod.namespace, owner: pod.owner, labels });
    });
  }
}

const bytes = (value: unknown): readonly Uint8Array[] => [new TextEncoder().encode(JSON.stringify(value))];

const json = (code: number, value: unknown): TransportResponse => ({ status: code, headers: {}, body: bytes(value) });

const status = (code: number, reason: string, message: string, causes: readonly object[] = []): TransportResponse =>
  json(code, { kind: 'Status', code, reason, message, details: { causes } });

async function* endlessBytes(signal: AbortSignal, clock: Clock): AsyncGenerator<Uint8Array> {
  for (;;) {
    await sleep(clock, 1, signal);
    yield new Uint8Array(1_024 * 1_024).fill(32);
  }
}
