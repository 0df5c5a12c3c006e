import { stringify } from 'yaml';

export interface Archive {
  readonly architecture: string;
  readonly file: string;
  readonly sha256: string;
}

/**
 * Returns the manifest with which krew installs `kubectl fargate`:
 * https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
export const krewPlugin = (version: string, downloads: string, archives: readonly Archive[]): string =>
  stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'fargate' },
      spec: {
        version,
        shortDescription: 'Plan, explain, import and check EKS Fargate profiles',
        description:
          'Tells what the controller of cluster-api-provider-aws-fargate would do, which Fargate profile takes a pod and why,\nhow to take over profiles of other tools, and whether an installation is sound. It only reads.',
        platforms: archives.map(({ architecture, file, sha256 }) => ({
          selector: { matchLabels: { os: 'linux', arch: architecture } },
          uri: `${downloads}/${version}/${file}`,
          sha256,
          files: [
            { from: 'kubectl-fargate', to: '.' },
            { from: '*LICENSE*', to: '.' },
            { from: 'THIRD-PARTY-NOTICES.txt', to: '.' },
          ],
          bin: 'kubectl-fargate',
        })),
      },
    },
    { lineWidth: 0 },
  );
