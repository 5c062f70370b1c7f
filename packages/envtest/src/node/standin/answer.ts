import type { IncomingMessage } from 'node:http';
import type { StandInConfig } from './config.ts';

/** What a request was answered by, and what arrived there: enough to see every hop that touched it. */
export function answerTo(request: IncomingMessage, config: StandInConfig): string {
  const { pod, namespace, node, pool, image } = config;
  const { method, url: path } = request;
  const headers = headersOf(request);
  return `${JSON.stringify({ pod, namespace, node, pool, image, method, path, headers }, null, 2)}\n`;
}

/** As they arrived: `request.headers` joins repeated ones, or drops them. */
function headersOf({ rawHeaders }: IncomingMessage): Record<string, string | string[]> {
  const headers = new Map<string, string[]>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), rawHeaders[i + 1]!]);
  }
  return Object.fromEntries([...headers].map(([name, values]) => [name, only(values)]));
}

const only = (values: string[]): string | string[] => (values.length === 1 ? values[0]! : values);
