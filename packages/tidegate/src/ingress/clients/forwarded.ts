/** One element of the header Forwarded (RFC 7239), with the parameters that matter. */
export interface ForwardedElement {
  readonly for?: string;
  readonly proto?: string;
  readonly host?: string;
}

const PAIR = /[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([!#$%&'*+.^_`|~0-9A-Za-z:[\]-]+|"(?:[^"\\]|\\.)*")[ \t]*/y;

/**
 * The elements of the header. A list that breaks the syntax anywhere is not a list at all: what follows the break could be read in
 * another way by the proxy that wrote it. Addresses without quotes may have colons and brackets, as many proxies write them.
 */
export function readForwarded(header: string): readonly ForwardedElement[] {
  const elements: Record<string, string>[] = [{}];
  let at = 0;
  for (;;) {
    PAIR.lastIndex = at;
    const found = PAIR.exec(header);
    if (found === null) return [];
    const [whole, name = '', value = ''] = found;
    const element = elements.at(-1)!;
    const key = name.toLowerCase();
    if (Object.hasOwn(element, key)) return [];
    element[key] = value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
    at += whole.length;
    if (at === header.length) return elements;
    if (header[at] === ',') elements.push({});
    else if (header[at] !== ';') return [];
    at++;
  }
}

/** The address of a node: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]:80`. Names such as `unknown` are not addresses. */
export const nodeAddress = (node: string): string =>
  /^\[([^\]]*)\](?::[0-9]{1,5})?$/.exec(node)?.[1] ?? /^([0-9.]+)(?::[0-9]{1,5})?$/.exec(node)?.[1] ?? node;
