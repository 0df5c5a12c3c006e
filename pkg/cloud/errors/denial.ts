const KINDS = [
  'identity-based policy',
  'resource-based policy',
  'service control policy',
  'resource control policy',
  'VPC endpoint policy',
  'permissions boundary',
  'session policy',
] as const;
export type PolicyKind = (typeof KINDS)[number];

/** What AWS's message says about a denied call. */
export interface Denial {
  /**
   * The denied action, such as `iam:PassRole`. It can differ from the operation that was called. `undefined` if the
   * message contains no action.
   */
  readonly action?: string;
  /** `isExplicit` means that the policy denies the action. Otherwise no policy of this kind allows it. */
  readonly policy?: { readonly kind: PolicyKind; readonly isExplicit: boolean };
}

/** In UTF-16 code units. The rest of a longer message is not parsed: AWS may quote a long text of a user in it. */
const MAX_MESSAGE = 4_096;

const ACTION = /\b(?:not authorized to perform:|missing permissions for:?) '?([a-z0-9-]+:[a-z]+)/i;
/**
 * Parses messages such as `User: … is not authorized to perform: <action> on resource: …`, which often continue `with
 * an explicit deny in a <kind of policy>` or `because no <kind of policy> allows the <action> action`:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
 */
export function readDenial(message: string): Denial {
  const text = message.slice(0, MAX_MESSAGE);
  const action = ACTION.exec(text)?.[1];
  const folded = text.toLowerCase();
  const saysOf = (kind: PolicyKind, ...phrases: readonly string[]): boolean =>
    phrases.some((phrase) => folded.includes(`${phrase} ${kind.toLowerCase()}`));
  const denying = KINDS.find((kind) => saysOf(kind, 'explicit deny in a', 'explicit deny in an'));
  const kind = denying ?? KINDS.find((each) => saysOf(each, 'because no'));
  return {
    ...(action !== undefined && { action }),
    ...(kind !== undefined && { policy: { kind, isExplicit: denying !== undefined } }),
  };
}
