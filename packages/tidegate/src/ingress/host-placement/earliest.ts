/** The earliest of some times, without those that never come. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const finite = times.filter((time): time is number => time !== undefined && Number.isFinite(time));
  return finite.length === 0 ? undefined : Math.min(...finite);
}
