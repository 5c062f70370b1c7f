import { existsSync, readFileSync } from 'node:fs';

/** The version in package.json, which lies above this file, in src/ as in dist/. */
export function packageVersion(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const file = new URL('package.json', folder);
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
    if (folder.pathname === '/') throw new Error('package.json not found: the installation is incomplete');
  }
}
