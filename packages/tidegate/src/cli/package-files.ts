import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The version in package.json. */
export const packageVersion = (): string =>
  (JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as { version: string }).version;

/**
 * The path of a file that ships with the program. It is in a folder above this one: the root of the package in an
 * installation, or the root of the repository in a checkout.
 */
export function packageFile(name: string): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const file = new URL(name, folder);
    if (existsSync(file)) return fileURLToPath(file);
    if (folder.pathname === '/')
      throw new Error(`${name} is missing: the installation is incomplete; install tidegate again`);
  }
}
