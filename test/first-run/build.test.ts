/** `scripts/build.js` in a small copy of the repository, where building is one line. */
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { finish } from '../support/process.ts';
import { repositoryFile } from '../support/repository.ts';

let root: string;
const inRoot = (path: string): string => join(root, path);

function write(path: string, text: string): void {
  mkdirSync(dirname(inRoot(path)), { recursive: true });
  writeFileSync(inRoot(path), text);
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate build '));
  for (const path of ['scripts/build.js', 'packages/tidegate/bin/require-node.js']) {
    write(path, '');
    copyFileSync(repositoryFile(path), inRoot(path));
  }
  write('package.json', '{ "type": "module" }');
  write('package-lock.json', '{}');
  write('node_modules/esbuild/package.json', '{}');
  write('bench/main.ts', '');
  write('test/chaos/main.ts', '');
  write('packages/tidegate/src/main.ts', 'one');
  write('packages/tidegate/src/main.test.ts', 'one');
  write(
    'scripts/bundle.js',
    `import { appendFileSync } from 'node:fs';
     export const bundleAll = async () => appendFileSync(new URL('../builds', import.meta.url), 'x');`,
  );
});
afterEach(() => {
  chmodSync(root, 0o755);
  rmSync(root, { recursive: true });
});

async function build(...args: string[]): Promise<{ status: number | null; output: string }> {
  // Root may write anywhere, so that nothing is read-only for it.
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  const { code, output } = await finish([process.execPath, inRoot('scripts/build.js'), ...args], user);
  return { status: code, output };
}

const builds = (): number => readFileSync(inRoot('builds'), 'utf8').length;

it('builds once, and again only when a source has changed', async () => {
  chmodSync(root, 0o777);
  expect(await build()).toEqual({ status: 0, output: '' });
  expect(await build()).toEqual({ status: 0, output: '' });
  expect(builds()).toBe(1);
  write('packages/tidegate/src/main.test.ts', 'a test is not in the program');
  await build();
  expect(builds()).toBe(1);
  write('packages/tidegate/src/main.ts', 'two');
  expect(await build()).toEqual({ status: 0, output: 'Building, because the sources have changed ...\n' });
  expect(builds()).toBe(2);
  write('packages/tidegate/src/new.ts', '');
  await build();
  expect(builds()).toBe(3);
  // The same size, at another time.
  utimesSync(inRoot('packages/tidegate/src/new.ts'), 1, 1);
  await build();
  expect(builds()).toBe(4);
  await build('--force');
  expect(builds()).toBe(5);
});

it.each(['', '/dist', '/packages/tidegate/dist'])(
  'says in one sentence that its folder%s is read-only',
  async (folder) => {
    mkdirSync(inRoot('packages/tidegate/dist'));
    mkdirSync(inRoot('dist'));
    for (const path of ['', 'dist', 'packages/tidegate/dist']) chmodSync(inRoot(path), 0o777);
    chmodSync(`${root}${folder}`, 0o555);
    expect(await build()).toEqual({
      status: 1,
      output: `tidegate: cannot build: '${root}${folder}' is read-only; copy '${root}' to a folder in which you can write, and run \`npm ci\` there\n`,
    });
  },
);

it('builds again after a build that failed', async () => {
  chmodSync(root, 0o777);
  write(
    'scripts/bundle.js',
    "export const bundleAll = async () => { throw new Error('a type is missing'); };",
  );
  expect(await build()).toMatchObject({ status: 1, output: expect.stringContaining('a type is missing') });
  expect(await build()).toMatchObject({ status: 1 });
});

it('says in one sentence that the packages are not installed', async () => {
  chmodSync(root, 0o777);
  rmSync(inRoot('node_modules'), { recursive: true });
  expect(await build()).toEqual({
    status: 1,
    output: `tidegate: cannot build: the packages are not installed in '${root}'; run \`npm ci\` first\n`,
  });
});
