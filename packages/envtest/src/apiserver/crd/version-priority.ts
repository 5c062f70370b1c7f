/** The version priority of Kubernetes: v2, v1, v1beta2, v1beta1, v1alpha1, then all other names. */
const STABILITY = { alpha: 1, beta: 2, '': 3 };
const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

export function byPriority(a: string, b: string): number {
  const [left, right] = [rank(a), rank(b)];
  if (left === undefined || right === undefined) {
    if (left !== right) return left === undefined ? 1 : -1;
    return a < b ? -1 : a > b ? 1 : 0;
  }
  for (const [index, value] of left.entries()) {
    const difference = (right[index] ?? 0) - value;
    if (difference !== 0) return difference;
  }
  return 0;
}

function rank(version: string): number[] | undefined {
  const match = VERSION.exec(version);
  if (match === null) return undefined;
  const [, major, stability = '', minor = '0'] = match;
  return [STABILITY[stability as keyof typeof STABILITY], Number(major), Number(minor)];
}
