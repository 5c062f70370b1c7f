const MOST_NAMES = 5;

/** `a, b, c and 7 more`: a message that stays readable however many there are. */
export function namesInText(names: Iterable<string>): string {
  const all = [...names].toSorted();
  const rest = all.length - MOST_NAMES;
  return rest <= 0 ? all.join(', ') : `${all.slice(0, MOST_NAMES).join(', ')} and ${rest} more`;
}
