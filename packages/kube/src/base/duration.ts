/** Ages in the format of kubectl: two or three significant figures, `2m30s`, `26h`, `5d3h`. */
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

const two = (big: number, bigUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${small}${smallUnit}`;

/**
 * Formats a duration in milliseconds as the AGE column of kubectl does.
 *
 * @example
 * humanDuration(150_000); // '2m30s'
 */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  // The clocks of two machines may differ slightly: up to two seconds in the future still counts as now.
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  const minutes = Math.floor(seconds / MINUTE);
  if (minutes < 10) return two(minutes, 'm', seconds % MINUTE, 's');
  if (minutes < 3 * 60) return `${minutes}m`;
  const hours = Math.floor(seconds / HOUR);
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(seconds / DAY);
  if (days < 8) return two(days, 'd', hours % 24, 'h');
  if (seconds < 2 * YEAR) return `${days}d`;
  const years = Math.floor(days / 365);
  return seconds < 8 * YEAR ? two(years, 'y', days % 365, 'd') : `${years}y`;
}
