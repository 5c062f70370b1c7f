/** Resolves an IntOrString, for example `3` or `25%`, against `total`. Integers are returned unchanged. */
export function resolveIntOrPercent(
  value: number | string,
  total: number,
  round: (share: number) => number,
): number {
  if (typeof value === 'number') return value;
  const percent = /^([0-9]+)%$/.exec(value)?.[1];
  if (percent === undefined) throw new Error(`invalid value for IntOrString: ${JSON.stringify(value)}`);
  return round((Number(percent) * total) / 100);
}
