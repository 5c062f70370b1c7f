// An OCI archive: an image layout in a tar file, which `ctr images import`, `skopeo`, `podman load` and `docker load` read.
import { createHash } from 'node:crypto';
import { tarOf } from './tar.js';

const MEDIA = 'application/vnd.oci.image';

/**
 * `images` has the layers, each as a tar archive, for every architecture. Returns the archive, and the digest that
 * identifies the image: that of its manifest, or of the index of several manifests.
 */
export function ociArchive({ images, config, name, time }) {
  const blobs = new Map();
  const add = (content) => {
    const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
    blobs.set(digest, content);
    return { digest, size: content.length };
  };
  const addJson = (mediaType, value) => ({ mediaType, ...add(Buffer.from(JSON.stringify(value))) });

  const manifests = images.map(({ architecture, layers }) => {
    const described = layers.map(({ tar }) => ({ mediaType: `${MEDIA}.layer.v1.tar`, ...add(tar) }));
    const created = new Date(time * 1000).toISOString();
    const manifest = addJson(`${MEDIA}.manifest.v1+json`, {
      schemaVersion: 2,
      mediaType: `${MEDIA}.manifest.v1+json`,
      config: addJson(`${MEDIA}.config.v1+json`, {
        created,
        architecture,
        os: 'linux',
        config,
        // A layer is not compressed, so its digest is that of its content.
        rootfs: { type: 'layers', diff_ids: described.map(({ digest }) => digest) },
        history: layers.map(({ comment }) => ({ created, created_by: comment })),
      }),
      layers: described,
      annotations: config.Labels,
    });
    return { ...manifest, platform: { architecture, os: 'linux' } };
  });
  const [image, ...others] = manifests;
  const top =
    others.length === 0
      ? image
      : addJson(`${MEDIA}.index.v1+json`, {
          schemaVersion: 2,
          mediaType: `${MEDIA}.index.v1+json`,
          manifests,
          annotations: config.Labels,
        });
  const annotations = {
    'org.opencontainers.image.ref.name': name.split(':').at(-1),
    // containerd names the image after this; it has names in full only.
    'io.containerd.image.name': fullName(name),
  };
  const index = { schemaVersion: 2, manifests: [{ ...top, annotations }] };
  const archive = tarOf(
    [
      { path: 'oci-layout', content: Buffer.from('{"imageLayoutVersion":"1.0.0"}') },
      { path: 'index.json', content: Buffer.from(JSON.stringify(index)) },
      ...[...blobs].map(([digest, content]) => ({ path: `blobs/${digest.replace(':', '/')}`, content })),
    ],
    time,
  );
  return { archive, digest: top.digest };
}

/** A name without a host is a name of the default registry of container runtimes. */
const fullName = (name) => {
  const [first = '', ...rest] = name.split('/');
  if (rest.length > 0 && /[.:]|^localhost$/.test(first)) return name;
  return `docker.io/${rest.length > 0 ? name : `library/${name}`}`;
};
