import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { finish, run } from '../support/process.ts';
import { repositoryFile } from '../support/repository.ts';
import { type Archive, buildImage } from './archive.ts';

const ARCHITECTURES = 'amd64,arm64';
const OWN = process.arch === 'x64' ? 'amd64' : process.arch;
/** What an ELF file for each architecture has as its machine. */
const MACHINES: Record<string, number> = { amd64: 62, arm64: 183 };

let image: Archive;
/** The files of the image for this machine. */
let files: string;
beforeAll(async () => {
  image = await buildImage(await mkdtemp(join(tmpdir(), 'image-')), '--arch', ARCHITECTURES);
  files = await image.unpack(OWN);
});

test('a second build has the same digest', async () => {
  const again = await buildImage(await mkdtemp(join(tmpdir(), 'image-')), '--arch', ARCHITECTURES);
  expect(again.digest).toBe(image.digest);
});

test('manifests and routers name the image that is built', async () => {
  const { version } = JSON.parse(await readFile(repositoryFile('packages/tidegate/package.json'), 'utf8'));
  expect(image.name).toBe(`tidegate:${version}`);
  const parts = ['admission', 'pools', 'routers', 'apps'].map((part) => `deploy/base/${part}.yaml`);
  const manifests = await Promise.all(parts.map((file) => readFile(repositoryFile(file), 'utf8')));
  const named = manifests.flatMap((text) =>
    [...text.matchAll(/(?:image: |--router-image\s+- )"?([^\s"]+)/g)].map(([, name]) => name),
  );
  // One for each part, and that of routers.
  expect(named.length).toBeGreaterThan(parts.length);
  expect(new Set(named)).toEqual(new Set([image.name]));
  const help = await run([process.execPath, repositoryFile('bin/tidegate'), 'manager', '--help']);
  expect(help.replaceAll(/\s+/g, ' ')).toContain(`(default: "${image.name}")`);
  // containerd needs the full name. A kubelet asks for it after it has added the default registry.
  const { manifests: images } = await image.index;
  expect(images[0]?.annotations?.['io.containerd.image.name']).toBe(`docker.io/library/${image.name}`);
});

test('the image has a variant for each architecture', async () => {
  for (const architecture of ARCHITECTURES.split(',')) {
    expect((await image.config(architecture)).architecture).toBe(architecture);
    const folder = architecture === OWN ? files : await image.unpack(architecture);
    for (const program of ['usr/bin/node', 'usr/sbin/nginx', 'usr/bin/ip'])
      expect((await readFile(join(folder, program))).readUInt16LE(18), program).toBe(MACHINES[architecture]);
  }
});

test('a Dockerfile builds the same image', async () => {
  const text = await readFile(repositoryFile('Dockerfile'), 'utf8');
  const last = text.slice(text.lastIndexOf('FROM scratch'));
  const all = (keyword: string): string[] =>
    [...last.matchAll(new RegExp(`^${keyword} (.*)$`, 'gm'))].map(([, rest = '']) => rest);
  const { config } = await image.config(OWN);
  expect(all('USER')).toEqual([config.User]);
  expect(all('WORKDIR')).toEqual([config.WorkingDir]);
  expect(all('ENV')).toEqual(config.Env);
  expect(all('ENTRYPOINT').map((line) => JSON.parse(line))).toEqual([config.Entrypoint]);
  expect(all('LABEL').map((line) => line.replaceAll('"', ''))).toEqual(
    Object.entries(config.Labels).map(([name, value]) => `${name}=${value}`),
  );
  expect(text).toContain('scripts/image.js --directory /image');
  const folder = join(await mkdtemp(join(tmpdir(), 'image-')), 'files');
  await run([process.execPath, repositoryFile('scripts/image.js'), '--directory', folder]);
  expect(await finish(['diff', '--recursive', '--no-dereference', folder, files])).toMatchObject({
    code: 0,
    output: '',
  });
});

describe('the list of contents', () => {
  test('has every package with its version and checksum', async () => {
    const { spdxVersion, packages } = await image.sbom(OWN);
    expect(spdxVersion).toBe('SPDX-2.3');
    const names = packages.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['nodejs', 'nginx', 'libc6', 'libssl3t64', 'undici', 'tidegate']),
    );
    for (const each of packages) expect(each.versionInfo, each.name).toMatch(/\d/);
    const debian = packages.filter(({ checksums }) => checksums !== undefined);
    expect(debian.length).toBeGreaterThan(20);
    for (const { checksums } of debian) expect(checksums?.[0]?.checksumValue).toMatch(/^[0-9a-f]{64}$/);
  });

  test('is in the image as well', async () => {
    const [name] = await readdir(join(files, 'usr/share/sbom'));
    const inside = JSON.parse(await readFile(join(files, 'usr/share/sbom', `${name}`), 'utf8'));
    expect(inside).toEqual(await image.sbom(OWN));
  });
});

/** Runs a program of the image as its user, with nothing but its files, which it cannot change. */
async function inside(...command: string[]): Promise<string> {
  const { config } = await image.config(OWN);
  const script = `mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
    mount -t tmpfs -o mode=1777 tmpfs "$0/tmp" && mount -o remount,ro,bind "$0" &&
    exec env -i ${config.Env.join(' ')} chroot --userspec=${config.User} "$0" "$@"`;
  const { output } = await finish([
    ...['unshare', '--mount', '--pid', '--fork', '--net', 'sh', '-c', script, files],
    ...command,
  ]);
  return output;
}

describe('in the image, as a user without rights on a read-only file system', () => {
  test('tidegate runs by its entry point and by its name', async () => {
    const { config } = await image.config(OWN);
    const [, version] = image.name.split(':');
    expect(await inside(...config.Entrypoint, '--version')).toBe(`${version}\n`);
    expect(await inside('tidegate', '--version')).toBe(`${version}\n`);
  });

  test('Node has all parts, and cannot write', async () => {
    const script = `
      const { rootCertificates } = require('node:tls');
      const denied = (path) => { try { require('node:fs').writeFileSync(path, ''); return 'written'; } catch (e) { return e.code; } };
      console.log(JSON.stringify([process.getuid(), typeof fetch, denied('/etc/x'), denied('/tmp/x'), rootCertificates.length > 100]));`;
    expect(JSON.parse(await inside('node', '-e', script))).toEqual([
      65532,
      'function',
      'EROFS',
      'written',
      true,
    ]);
  });

  test('tidegate finds an nginx with Lua', async () => {
    const config = `load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
pid /tmp/pid; error_log stderr notice; daemon off; events {}
http { access_log off; init_by_lua_block { require "cjson" require "ngx.balancer" require "ngx.ssl" print("works") os.exit(0) } }`;
    const script = `require('node:fs').writeFileSync('/tmp/conf', process.argv[1]);
      require('node:child_process').spawnSync('/usr/sbin/nginx', ['-c', '/tmp/conf'], { stdio: 'inherit' });`;
    expect(await inside('node', '-e', script, config)).toContain('works');
    expect(await inside('ip', '-V')).toContain('iproute2');
  });

  test('there is no shell and no package manager', async () => {
    const programs = await Promise.all(['usr/bin', 'usr/sbin'].map((folder) => readdir(join(files, folder))));
    expect(programs.flat().toSorted()).toEqual(['ip', 'nginx', 'node']);
  });
});
