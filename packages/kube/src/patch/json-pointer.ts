/** JSON Pointer, RFC 6901: `/spec/containers/0`. `~1` stands for a slash in a name, `~0` for a tilde. */

/** Undefined when the text is not a JSON pointer. The empty pointer refers to the whole document. */
export function parsePointer(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The inverse of `parsePointer`. */
export const toPointer = (path: readonly string[]): string =>
  path.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
