// Writes an image and a program of Tidegate with another version number, to test version skew. Arguments: the archive of the
// image, the folder of an unpacked program, the version, the file for the new archive. The program is changed in its folder.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ociArchive } from '../../../scripts/image/oci.js';
import { readTar, tarOf } from '../../../scripts/image/tar.js';

const [archive, folder, version, output] = process.argv.slice(2);
/** The files with the version. */
const FILES = {
  'package.json': (text) => text.replace(/"version": "[^"]+"/, `"version": "${version}"`),
  'deploy/chart/Chart.yaml': (text) => text.replace(/^(version|appVersion): .*$/gm, `$1: ${version}`),
};

const changed = Object.entries(FILES).map(([path, change]) => {
  const content = change(readFileSync(join(folder, path), 'utf8'));
  if (!content.includes(version)) throw new Error(`${path} has no version that could be changed`);
  writeFileSync(join(folder, path), content);
  return { path: `opt/tidegate/${path}`, content: Buffer.from(content) };
});

const files = readTar(readFileSync(archive));
const blob = ({ digest }) => files.get(`blobs/${digest.replace(':', '/')}`);
const [described] = JSON.parse(files.get('index.json')).manifests;
const manifest = JSON.parse(blob(described));
const { config, architecture } = JSON.parse(blob(manifest.config));
const layers = [
  ...manifest.layers.map((layer) => ({ tar: blob(layer), comment: 'Tidegate' })),
  { tar: tarOf(changed, 0), comment: `version ${version}` },
];
const { archive: written } = ociArchive({
  images: [{ architecture, layers }],
  config,
  name: `tidegate:${version}`,
  time: 0,
});
writeFileSync(output, written);
