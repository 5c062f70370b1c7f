import { join } from 'node:path';

/** The path of a file of this repository, given relative to its root. */
export const repositoryFile = (name: string): string => join(import.meta.dirname, '../..', name);

/** The program as a user of the checkout runs it. */
export const PROGRAM = repositoryFile('bin/tidegate');
