import { type KubeClient, listAll } from 'controller-runtime/client';
import { fieldAt, listAt, textAt } from 'controller-runtime/json';
import { cut } from 'controller-runtime/text';
import { refusalOf } from '../../../pkg/fargate/fargate-pods.ts';
import { findFix } from '../../../pkg/fargate/pod-fixes.ts';
import { Unseen } from '../aws.ts';
import { EVENTS } from '../kube.ts';
import type { Pod } from './pod.ts';

/** A message from Kubernetes or Fargate about a pod that has not started. */
export interface Said {
  /** Such as `fargate-scheduler`. */
  readonly source: string;
  readonly message: string;
  readonly fix: string | null;
}

const MAX_SHOWN = 5;
const MAX_LENGTH = 1_000;

/** Reasons of events that do not prevent a pod from starting. They say whether Fargate collects the pod's logs. */
const HARMLESS = ['LoggingDisabled', 'LoggingEnabled'];

/**
 * Reads why a Pending pod has not started: from its status, then from its Warning events, newest first.
 * @throws KubeError; Unseen if `client` is undefined
 */
export async function readSaid(
  pod: Pod,
  client: KubeClient | undefined,
  signal: AbortSignal,
): Promise<readonly Said[]> {
  const { created, namespace } = pod;
  if (created === undefined || textAt(created.status, 'phase') !== 'Pending') return [];
  if (client === undefined) throw new Unseen('its cluster was not asked');
  const fieldSelector = `involvedObject.uid=${created.uid}`;
  const events = (await listAll(client, EVENTS, { namespace, fieldSelector }, signal))
    .filter((event) => event['type'] === 'Warning' && !HARMLESS.includes(textAt(event, 'reason') ?? ''))
    .toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1));
  return toSaid([
    ...fromStatus(created.status),
    ...events.map((event) => [sourceOf(event), textAt(event, 'message')] as const),
  ]);
}

type Text = readonly [source: string, message: string | undefined];

/** Returns why Fargate refuses the pod (condition PodScheduled), and why containers wait. */
function fromStatus(status: unknown): readonly Text[] {
  const containers = ['initContainerStatuses', 'containerStatuses'].flatMap((field) => listAt(status, field));
  const waiting = containers.map((each): Text => {
    const state = fieldAt(fieldAt(each, 'state'), 'waiting');
    return [`container ${textAt(each, 'name') ?? ''}`, textAt(state, 'message')];
  });
  return [['PodScheduled', refusalOf(status)], ...waiting];
}

function toSaid(texts: readonly Text[]): readonly Said[] {
  const messages = new Map<string, string>();
  for (const [source, text] of texts) {
    const message = cut(text ?? '', MAX_LENGTH);
    if (message !== '' && !messages.has(message)) messages.set(message, source);
  }
  return Array.from(messages, ([message, source]) => ({ source, message, fix: findFix(message) ?? null })).slice(
    0,
    MAX_SHOWN,
  );
}

const sourceOf = (event: unknown): string =>
  textAt(event, 'reportingComponent') ?? textAt(fieldAt(event, 'source'), 'component') ?? 'event';

const timeOf = (event: unknown): string =>
  textAt(fieldAt(event, 'series'), 'lastObservedTime') ??
  textAt(event, 'lastTimestamp') ??
  textAt(event, 'eventTime') ??
  textAt(fieldAt(event, 'metadata'), 'creationTimestamp') ??
  '';
