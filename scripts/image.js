// `npm run image`: writes the image of Tidegate as an OCI archive, and its contents as SPDX (scripts/image/README.md).
//   --arch amd64,arm64   the architectures; by default that of this machine
//   --output FOLDER      by default image
//   --directory FOLDER   writes the files of the image into a folder instead, for the Dockerfile
//   --sizes              prints the compressed sizes too, which takes some seconds
//   --refresh            looks for newer packages of Debian; by default once a day
import '../packages/tidegate/bin/require-node.js';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { PACKAGES, selectFiles } from './image/contents.js';
import { fetchPackages } from './image/debian.js';
import { ARCHITECTURES, CONFIG, IMAGE, root, SUITE, version } from './image/definition.js';
import { ociArchive } from './image/oci.js';
import { packProgram } from './image/program.js';
import { sbomOf } from './image/sbom.js';
import { tarOf } from './image/tar.js';

const { values: options } = parseArgs({
  options: {
    arch: { type: 'string', default: process.arch === 'x64' ? 'amd64' : process.arch },
    output: { type: 'string', default: join(root, 'image') },
    directory: { type: 'string' },
    sizes: { type: 'boolean', default: false },
    refresh: { type: 'boolean', default: false },
  },
});

/** The time of all files, as reproducible builds have it: seconds since 1970. */
const time = Number(process.env.SOURCE_DATE_EPOCH ?? 0);
if (!Number.isSafeInteger(time) || time < 0) fail('SOURCE_DATE_EPOCH is not a number of seconds');

const architectures = options.arch.split(',');
for (const each of architectures)
  if (!Object.hasOwn(ARCHITECTURES, each))
    fail(
      `--arch: ${each} is not an architecture of the image; choose from ${Object.keys(ARCHITECTURES).join(', ')}`,
    );

const program = packProgram();
const images = architectures.map((architecture) => {
  const { entries, packages } = selectFiles(
    fetchPackages(PACKAGES, SUITE, architecture, options),
    architecture,
  );
  const sbom = Buffer.from(
    `${JSON.stringify(sbomOf({ debian: packages, npm: program.bundled, architecture, time }), undefined, 2)}\n`,
  );
  const own = [...program.entries, { path: `usr/share/sbom/tidegate-${version}.spdx.json`, content: sbom }];
  return { architecture, sbom, layers: [entries, own] };
});

if (options.directory === undefined) writeArchive();
else writeDirectory(resolve(options.directory));

function writeArchive() {
  const comments = [`Debian ${SUITE}: Node.js, nginx and ip`, 'Tidegate'];
  const packed = images.map(({ architecture, layers }) => ({
    architecture,
    layers: layers.map((entries, i) => ({ tar: tarOf(entries, time), comment: comments[i] })),
  }));
  const { archive, digest } = ociArchive({ images: packed, config: CONFIG, name: IMAGE, time });
  mkdirSync(options.output, { recursive: true });
  const file = join(options.output, `tidegate-${version}.tar`);
  writeFileSync(file, archive);
  for (const { architecture, sbom } of images)
    writeFileSync(join(options.output, `tidegate-${version}-${architecture}.spdx.json`), sbom);
  console.log(`${IMAGE} ${digest}`);
  for (const { architecture, layers } of packed)
    console.log(`  linux/${architecture}: ${layers.map(({ tar }) => sizeOf(tar)).join(' + ')}`);
  console.log(`written to ${file} (sha256 ${createHash('sha256').update(archive).digest('hex')})`);
}

function sizeOf(tar) {
  const mb = (bytes) => (bytes / 1e6).toFixed(1);
  const compressed = options.sizes ? ` (${mb(gzipSync(tar).length)} MB compressed)` : '';
  return `${mb(tar.length)} MB${compressed}`;
}

function writeDirectory(folder) {
  if (images.length !== 1) fail('--directory needs exactly one architecture');
  for (const { path, content, link, mode } of images[0].layers.flat()) {
    const file = join(folder, path);
    mkdirSync(content === undefined && link === undefined ? file : dirname(file), { recursive: true });
    if (link !== undefined) symlinkSync(link, file);
    else if (content !== undefined) writeFileSync(file, content);
    if (link === undefined) chmodSync(file, mode ?? (content === undefined ? 0o755 : 0o644));
  }
}

function fail(message) {
  console.error(`npm run image: ${message}`);
  process.exit(1);
}
