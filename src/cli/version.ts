import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The version in package.json. */
export const packageVersion = (): string =>
  (JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as { version: string }).version;

/** The path of a file of this package, whose folder lies above this file, in src/ as in dist/. */
export function packageFile(name: string): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    if (existsSync(new URL('package.json', folder))) return fileURLToPath(new URL(name, folder));
    if (folder.pathname === '/') throw new Error('package.json not found: the installation is incomplete');
  }
}
