// Writes two images for tests next to the image of Tidegate: an application that answers HTTP requests, and the container that
// holds the namespaces of a pod. Arguments: the archive of Tidegate, a static busybox, the folder for the images.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ociArchive } from '../../../scripts/image/oci.js';
import { readTar, tarOf } from '../../../scripts/image/tar.js';

const [archive, busybox, folder] = process.argv.slice(2);
const architecture = process.arch === 'x64' ? 'amd64' : process.arch;

/** Answers what a stand-in of the embedded cluster answers, as far as a container can know it. */
const APPLICATION = `
const { hostname, networkInterfaces } = require('node:os');
const { createServer } = require('node:http');
const address = Object.values(networkInterfaces()).flat().find((each) => !each.internal && each.family === 'IPv4')?.address;
const server = createServer(({ url }, response) => response.end(JSON.stringify({ pod: hostname(), address, path: url })));
server.listen(8080, '0.0.0.0');
// Like a web server: requests that run are completed.
process.on('SIGTERM', () => server.close(() => process.exit(0)));
`;

const [{ manifests }, blob] = layoutOf(readTar(readFileSync(archive)));
const { layers } = JSON.parse(blob(manifests[0].digest));
const base = blob(layers[0].digest);
const file = (path, content, mode) => tarOf([{ path, content: Buffer.from(content), mode }], 0);

write(
  'application',
  'localhost/application:1',
  ['/usr/bin/node', '/application.js'],
  [
    { tar: base, comment: 'Debian' },
    { tar: file('application.js', APPLICATION), comment: 'application' },
  ],
);
write(
  'pause',
  'localhost/pause:1',
  ['/sleep', '2000000000'],
  [{ tar: file('sleep', readFileSync(busybox), 0o755), comment: 'pause' }],
);

function write(name, image, Entrypoint, content) {
  const config = { Entrypoint, User: '65532:65532', Env: ['PATH=/usr/bin'], Labels: {} };
  const { archive: written } = ociArchive({
    images: [{ architecture, layers: content }],
    config,
    name: image,
    time: 0,
  });
  writeFileSync(join(folder, `${name}.tar`), written);
}

function layoutOf(files) {
  return [JSON.parse(files.get('index.json')), (digest) => files.get(`blobs/${digest.replace(':', '/')}`)];
}
