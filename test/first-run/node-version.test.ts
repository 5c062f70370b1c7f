/** Old versions of Node.js get one sentence. `npm run test:package` runs the same on a real Node 18. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROGRAM, repositoryFile } from '../support/repository.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidegate-node-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs a script with a Node.js that claims to be another version. */
function run(script: string, version: string): { status: number | null; output: string } {
  const fake = join(directory, 'fake.cjs');
  const versions = `{ ...process.versions, node: ${JSON.stringify(version)} }`;
  writeFileSync(fake, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--require', fake, script, '--version'], {
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

const required = (
  JSON.parse(readFileSync(repositoryFile('package.json'), 'utf8')) as { engines: { node: string } }
).engines.node.replace('>=', '');

describe.each([
  ['tidegate', PROGRAM],
  ['kubectl-tidegate', repositoryFile('bin/kubectl-tidegate')],
  ['the build', repositoryFile('scripts/build.js')],
])('%s', (_, script) => {
  it.each(['16.20.2', '18.20.8', '20.18.3'])('says in one sentence that Node.js %s is too old', (version) => {
    expect(run(script, version)).toEqual({
      status: 1,
      output: `tidegate: Node.js ${required} or newer is required, but this is Node.js ${version} (${process.execPath}); install a newer version\n`,
    });
  });
});

it.each([`${required}.0`, '22.0.0', '24.1.0'])('accepts Node.js %s', (version) => {
  expect(run(PROGRAM, version).status).toBe(0);
});
