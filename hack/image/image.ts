import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../build/bundle.ts';
import { ASSIGNMENTS, NODE_FLAGS } from '../build/node-flags.ts';
import { collectNotices, renderNotices } from '../build/notices.ts';
import { ARCHITECTURES, baseEntries } from './base.ts';
import type { ImageConfig } from './oci.ts';
import { newLayer, ociArchive } from './oci.ts';
import type { Entry } from './tar.ts';

const OUTFILE = 'dist/release/manager.mjs';
const DOCUMENTS = 'usr/share/doc/cluster-api-provider-aws-fargate';

export interface ImageRequest {
  readonly root: string;
  readonly version: string;
  /** The repository of the image, without a tag. */
  readonly repository: string;
}

const file = (path: string, content: string | Buffer): Entry => ({
  kind: 'file',
  path,
  mode: 0o644,
  content: Buffer.from(content),
});

const configOf = (version: string): ImageConfig => ({
  User: '65532:65532',
  Entrypoint: ['/usr/bin/node', ...NODE_FLAGS, '/manager.mjs'],
  WorkingDir: '/',
  Env: ['PATH=/usr/bin', ...ASSIGNMENTS],
  Labels: {
    'org.opencontainers.image.title': 'cluster-api-provider-aws-fargate',
    'org.opencontainers.image.description': 'Cluster API infrastructure provider for EKS Fargate profiles',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': 'Apache-2.0',
  },
});

/**
 * Builds the image of the manager for all architectures. The build executes no program of the image, so every machine
 * can build the image of every architecture.
 * @returns an OCI archive, and the digest of its image index
 */
export async function buildImage({ root, version, repository }: ImageRequest): Promise<{
  readonly archive: Buffer;
  readonly digest: string;
}> {
  const { inputs } = await bundle({ entry: 'cmd/manager/main.ts', outfile: OUTFILE, version, root });
  const manager = await newLayer('the manager', [
    file('manager.mjs', readFileSync(join(root, OUTFILE))),
    file(`${DOCUMENTS}/LICENSE`, readFileSync(join(root, 'LICENSE'))),
    file(`${DOCUMENTS}/THIRD-PARTY-NOTICES.txt`, renderNotices(collectNotices(root, inputs))),
  ]);
  const images = await Promise.all(
    ARCHITECTURES.map(async (architecture) => {
      const base = await newLayer('libraries of Debian, and Node.js', await baseEntries(architecture));
      return { architecture, layers: [base, manager] };
    }),
  );
  return ociArchive(images, configOf(version), `${repository}:${version}`);
}
