import type { ResourceIdentifier } from '../../api/index.ts';

/** The maximum number of problems in the message of a condition, to keep it readable. */
const MAX_IN_MESSAGE = 3;

/** `<kind> <namespace>/<name>`, for messages. */
export const nameOf = ({ kind, name, namespace }: ResourceIdentifier): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;

export function inText(messages: readonly string[]): string {
  const shown = messages.slice(0, MAX_IN_MESSAGE);
  const rest = messages.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ');
}
