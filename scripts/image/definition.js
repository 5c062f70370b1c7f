// What a user of the image sees. The Dockerfile repeats it, and a test compares both.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '../..');

const { version, description, license } = JSON.parse(
  readFileSync(join(root, 'packages/tidegate/package.json'), 'utf8'),
);

/** The version in package.json is the only source of the tag; the manager names the same image for its routers. */
export const IMAGE = `tidegate:${version}`;
export { version };

/** The Debian suite. Its Node.js and nginx are the oldest that are tested in the image. */
export const SUITE = 'trixie';

/** By the names of Debian, which are those of OCI too. */
export const ARCHITECTURES = { amd64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };

export const PROGRAM_FOLDER = 'opt/tidegate';

/**
 * The first line of bin/tidegate starts `env`, which is not in the image. So the entry point has its variables and its
 * options for Node.js.
 */
const [, variables, options] =
  /^#!\/usr\/bin\/env -S (.*) node (.*)$/m.exec(
    readFileSync(join(root, 'packages/tidegate/bin/tidegate'), 'utf8'),
  ) ?? [];
if (variables === undefined) throw new Error('the first line of packages/tidegate/bin/tidegate has changed');

const NODE = ['/usr/bin/node', ...options.split(' ')];

/** The file /usr/local/bin/tidegate, for `kubectl exec`. The kernel passes one argument at most. */
export const LAUNCHER = `#!${NODE.join(' ')}
require('/${PROGRAM_FOLDER}/bin/tidegate');
`;

export const CONFIG = {
  User: '65532:65532',
  Env: [
    'PATH=/usr/local/bin:/usr/bin:/usr/sbin',
    'NODE_ENV=production',
    'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt',
    ...variables.split(' '),
  ],
  Entrypoint: [...NODE, `/${PROGRAM_FOLDER}/bin/tidegate`],
  WorkingDir: '/',
  Labels: {
    'org.opencontainers.image.title': 'Tidegate',
    'org.opencontainers.image.description': description,
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': license,
    'org.opencontainers.image.base.name': `debian:${SUITE}`,
  },
};
