/** The path that nginx compares with locations: decoded, without dot segments and empty segments. Undefined: status 400. */
export function normalizedPath(target: string): string | undefined {
  const [path = ''] = target.split(/[?#]/, 1);
  if (!path.startsWith('/') || /%(?![0-9a-f]{2})|%00/i.test(path)) return undefined;
  const decoded = path.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const result: string[] = [];
  const segments = decoded.split('/').slice(1);
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    if (segment === '..') {
      // A path above the root is not valid.
      if (result.pop() === undefined) return undefined;
    } else if (segment !== '.' && (segment !== '' || isLast)) {
      result.push(segment);
      continue;
    }
    if (isLast) result.push('');
  }
  return `/${result.join('/')}`;
}
