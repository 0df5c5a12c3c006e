import { createHash, createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from '../../support/proxies/listen.ts';

/** EKS accepts a token for 15 minutes after its date. */
const LIFETIME_MS = 15 * 60_000;

export interface Identity {
  readonly secret: string;
  readonly username: string;
  readonly groups: readonly string[];
}

/**
 * Simulates aws-iam-authenticator, which answers the TokenReviews of an EKS cluster's API server, and STS, which
 * aws-iam-authenticator calls. The check of a token's signature shares no code with the manager, which signs the token.
 */
export class IamAuthenticator {
  /** The identities that may authenticate, by access key. */
  readonly identities = new Map<string, Identity>();
  /** The reasons why tokens were refused. */
  readonly refusals: string[] = [];
  private readonly cluster: string;
  private readonly server = createServer((request, response) => {
    void text(request).then((body) => {
      const review = JSON.parse(body) as { apiVersion: string; spec: { token: string } };
      const { apiVersion } = review;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ apiVersion, kind: 'TokenReview', status: this.review(review.spec.token) }));
    });
  });

  constructor(cluster: string) {
    this.cluster = cluster;
  }

  async start(): Promise<string> {
    return `http://127.0.0.1:${await listenOnLoopback(this.server)}/authenticate`;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private review(token: string): object {
    const result = this.identify(token);
    if (typeof result !== 'string') {
      const { username, groups } = result;
      return { authenticated: true, user: { username, groups } };
    }
    this.refusals.push(result);
    return { authenticated: false, error: result };
  }

  private identify(token: string): Identity | string {
    if (!token.startsWith('k8s-aws-v1.')) return 'no token of AWS';
    const url = new URL(Buffer.from(token.slice('k8s-aws-v1.'.length), 'base64url').toString());
    const { searchParams: query } = url;
    const get = (name: string): string => query.get(name) ?? '';
    if (url.protocol !== 'https:' || !/^sts\.[a-z0-9-]+\.amazonaws\.com$/.test(url.hostname)) return `host ${url.host}`;
    if (get('Action') !== 'GetCallerIdentity') return `action ${get('Action')}`;
    if (get('X-Amz-SignedHeaders') !== 'host;x-k8s-aws-id') return `signed headers ${get('X-Amz-SignedHeaders')}`;
    if (Number(get('X-Amz-Expires')) > 900) return `expires in ${get('X-Amz-Expires')}`;
    const [key = '', day = '', region = '', service = ''] = get('X-Amz-Credential').split('/');
    const date = get('X-Amz-Date');
    const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    if (!(Math.abs(Date.now() - at) < LIFETIME_MS)) return `date ${date}`;
    const identity = this.identities.get(key);
    if (identity === undefined) return `no access entry for ${key}`;
    const encode = (value: string): string =>
      encodeURIComponent(value).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
    const canonicalQuery = [...query]
      .filter(([name]) => name !== 'X-Amz-Signature')
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .toSorted()
      .join('&');
    const headers = `host:${url.host}\nx-k8s-aws-id:${this.cluster}\n`;
    const canonical = ['GET', '/', canonicalQuery, headers, 'host;x-k8s-aws-id', sha256('')].join('\n');
    const scope = [day, region, service, 'aws4_request'];
    const toSign = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n');
    const signingKey = scope.reduce<Buffer | string>((secret, part) => hmac(secret, part), `AWS4${identity.secret}`);
    return hmac(signingKey, toSign).toString('hex') === get('X-Amz-Signature') ? identity : 'wrong signature';
  }
}

const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex');
const hmac = (key: Buffer | string, value: string): Buffer => createHmac('sha256', key).update(value).digest();
