import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff';

interface Side {
  name: string;
  text: string;
}

/** Lines of context around each change, as in `diff -u`. */
const CONTEXT = 3;

/** Compares two texts in the format of `diff -u`. Returns an empty string if they are equal. */
export function unifiedDiff(before: Side, after: Side): string {
  const options = { context: CONTEXT };
  const patch = structuredPatch(
    before.name,
    after.name,
    before.text,
    after.text,
    undefined,
    undefined,
    options,
  );
  return patch.hunks.length === 0 ? '' : formatPatch(patch, FILE_HEADERS_ONLY);
}
