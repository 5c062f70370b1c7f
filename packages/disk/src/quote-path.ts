/**
 * A path as a word of a shell: as it is, or in single quotes if a shell would split or interpret it. For messages and for
 * commands that users copy.
 */
export const quotePath = (path: string): string =>
  /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
