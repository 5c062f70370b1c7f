import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The path of a file of this repository, given relative to its root. */
export const repositoryFile = (name: string): string => join(ROOT, name);

/** This code also runs from bundles in `dist`, so the depth of its folder is not known. */
const ROOT = rootOf(import.meta.dirname);

function rootOf(folder: string): string {
  if (existsSync(join(folder, 'package-lock.json'))) return folder;
  if (folder === dirname(folder)) throw new Error(`${import.meta.dirname} is not inside the repository`);
  return rootOf(dirname(folder));
}

/** The program as a user of the checkout runs it. */
export const PROGRAM = repositoryFile('bin/tidegate');
