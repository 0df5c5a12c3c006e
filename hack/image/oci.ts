import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Entry } from './tar.ts';
import { tar } from './tar.ts';

/** A layer of an image: https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md */
export interface Layer {
  /** The description of the layer in the `history` of the image configuration. */
  readonly comment: string;
  /** The digest of the uncompressed tar archive of the layer. */
  readonly diffId: string;
  readonly blob: Buffer;
}

/** The image of one architecture. */
export interface PlatformImage {
  readonly architecture: string;
  readonly layers: readonly Layer[];
}

export interface ImageConfig {
  readonly User: string;
  readonly Entrypoint: readonly string[];
  readonly WorkingDir: string;
  readonly Env: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** The creation time of every image. It is constant, so that the same sources give the same bytes. */
const CREATED = '1970-01-01T00:00:00Z';
const MEDIA_TYPE = 'application/vnd.oci.image';

export const digestOf = (content: Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;

export async function newLayer(comment: string, entries: readonly Entry[]): Promise<Layer> {
  const archive = tar(entries);
  return { comment, diffId: digestOf(archive), blob: await promisify(gzip)(archive) };
}

/**
 * Returns an OCI archive: an image layout in a tar archive, as `skopeo copy oci-archive:…` and `podman load` read it.
 * The image index has one image for each platform.
 * https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
 */
export function ociArchive(
  images: readonly PlatformImage[],
  config: ImageConfig,
  name: string,
): { readonly archive: Buffer; readonly digest: string } {
  const blobs = new Map<string, Buffer>();
  const put = (mediaType: string, content: Buffer): Descriptor => {
    const digest = digestOf(content);
    blobs.set(digest, content);
    return { mediaType: `${MEDIA_TYPE}.${mediaType}`, digest, size: content.length };
  };
  const manifests = images.map(({ architecture, layers }) => ({
    ...put('manifest.v1+json', manifestOf({ architecture, layers }, config, put)),
    platform: { architecture, os: 'linux' },
  }));
  const index = put('index.v1+json', json({ schemaVersion: 2, mediaType: `${MEDIA_TYPE}.index.v1+json`, manifests }));
  const annotations = { 'org.opencontainers.image.ref.name': name };
  const archive = tar([
    file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
    file('index.json', json({ schemaVersion: 2, manifests: [{ ...index, annotations }] })),
    ...[...blobs].map(([digest, content]) => file(`blobs/${digest.replace(':', '/')}`, content)),
  ]);
  return { archive, digest: index.digest };
}

function manifestOf(
  { architecture, layers }: PlatformImage,
  config: ImageConfig,
  put: (mediaType: string, content: Buffer) => Descriptor,
): Buffer {
  const image = {
    created: CREATED,
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ comment }) => ({ created: CREATED, created_by: comment })),
  };
  return json({
    schemaVersion: 2,
    mediaType: `${MEDIA_TYPE}.manifest.v1+json`,
    config: put('config.v1+json', json(image)),
    layers: layers.map(({ blob }) => put('layer.v1.tar+gzip', blob)),
  });
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

const file = (path: string, content: Buffer): Entry => ({ kind: 'file', path, mode: 0o644, content });
