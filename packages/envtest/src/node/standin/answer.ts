import type { IncomingMessage } from 'node:http';
import type { StandInConfig } from './config.ts';

/** The response body: which pod responded, and the request as it arrived, including headers added by proxies. */
export function answerTo(request: IncomingMessage, config: StandInConfig): string {
  const { pod, namespace, node, pool, image } = config;
  const { method, url: path } = request;
  const headers = headersOf(request);
  return `${JSON.stringify({ pod, namespace, node, pool, image, method, path, headers }, null, 2)}\n`;
}

/** The headers as they arrived; `request.headers` would join or drop repeated ones. */
function headersOf({ rawHeaders }: IncomingMessage): Record<string, string | string[]> {
  const headers = new Map<string, string[]>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), rawHeaders[i + 1]!]);
  }
  return Object.fromEntries([...headers].map(([name, values]) => [name, only(values)]));
}

const only = (values: string[]): string | string[] => (values.length === 1 ? values[0]! : values);
