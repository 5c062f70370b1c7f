/** What `npm ci` prints on the oldest supported Node.js. */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { finish } from '../support/process.ts';
import { repositoryFile } from '../support/repository.ts';

it('installs without a warning about engines or install scripts', async () => {
  const args = ['ci', '--dry-run', '--offline', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { code, output } = await finish(['npm', ...args], { cwd: repositoryFile('.') });
  expect(code, output).toBe(0);
  expect(output).not.toMatch(/EBADENGINE|install-scripts/);
});

/** npm prints a warning for each of these on Node 20. Their code is not run, only their files are read. */
it('locks no package that asks for a newer Node.js', async () => {
  const lock = JSON.parse(await readFile(repositoryFile('package-lock.json'), 'utf8')) as {
    packages: Record<string, { engines?: { node?: string } }>;
  };
  const newer = Object.entries(lock.packages).filter(([, { engines }]) =>
    /^>=\s*2[1-9]/.test(engines?.node ?? ''),
  );
  expect(
    newer.map(([path]) => path),
    'remove "engines" of these packages from package-lock.json, as CONTRIBUTING.md says',
  ).toEqual([]);
});
