/** Old versions of Node.js get one sentence. `npm run test:package` runs the same on a real Node 18. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { finish } from '../support/process.ts';
import { PROGRAM, repositoryFile } from '../support/repository.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidegate-node-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs a script with a Node.js that claims to be another version. */
async function run(script: string, version: string): Promise<{ status: number | null; output: string }> {
  const fake = join(directory, 'fake.cjs');
  const versions = `{ ...process.versions, node: ${JSON.stringify(version)} }`;
  writeFileSync(fake, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
  const { code, output } = await finish([process.execPath, '--require', fake, script, '--version']);
  return { status: code, output };
}

const required = (
  JSON.parse(readFileSync(repositoryFile('package.json'), 'utf8')) as { engines: { node: string } }
).engines.node.replace('>=', '');

describe.each([
  ['tidegate', PROGRAM],
  ['kubectl-tidegate', repositoryFile('bin/kubectl-tidegate')],
  ['the build', repositoryFile('scripts/build.js')],
])('%s', (_, script) => {
  it.each(['16.20.2', '18.20.8', '20.18.3'])(
    'says in one sentence that Node.js %s is too old',
    async (version) => {
      expect(await run(script, version)).toEqual({
        status: 1,
        output: `tidegate: Node.js ${required} or newer is required, but this is Node.js ${version} (${process.execPath}); install a newer version\n`,
      });
    },
  );
});

it.each([`${required}.0`, '22.0.0', '24.1.0'])('accepts Node.js %s', async (version) => {
  expect((await run(PROGRAM, version)).status).toBe(0);
});
