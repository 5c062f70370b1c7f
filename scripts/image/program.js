// Tidegate as `npm pack` packs it, for the second layer.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LAUNCHER, PROGRAM_FOLDER, root } from './definition.js';

/** Documents and examples are for people. The manifests stay: `tidegate` reads them. */
const LEFT_OUT = /^(?:docs|examples)\/|^(?:README|CHANGELOG|CONTRIBUTING|SECURITY)\.md$/;

/** Returns the entries of the layer, and the npm packages in the bundles. */
export function packProgram() {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-image-'));
  try {
    const output = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: join(root, 'packages/tidegate'),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [{ filename }] = JSON.parse(output.slice(output.indexOf('[')));
    execFileSync('tar', ['-xzf', join(folder, filename), '-C', folder]);
    const packed = join(folder, 'package');
    const files = readdirSync(packed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(packed.length + 1))
      .filter((name) => !LEFT_OUT.test(name));
    return {
      entries: [
        ...files.map((name) => ({
          path: `${PROGRAM_FOLDER}/${name}`,
          content: readFileSync(join(packed, name)),
          mode: name.startsWith('bin/') && !name.includes('.') ? 0o755 : 0o644,
        })),
        { path: 'usr/local/bin/tidegate', content: Buffer.from(LAUNCHER), mode: 0o755 },
      ],
      bundled: bundledIn(readFileSync(join(packed, 'dist/LICENSES.txt'), 'utf8')),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Every licence starts with the name, the version and the identifier of the licence. */
const bundledIn = (licenses) =>
  [...licenses.matchAll(/^(?:@?[\w./-]+) (?:\d\S*) \(.*\)$/gm)].map(([line]) => {
    const [, name, version, license] = /^(\S+) (\S+) \((.*)\)$/.exec(line);
    return { name, version, license };
  });
