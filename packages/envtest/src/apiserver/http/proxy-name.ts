/** The names that clients of the subresource `proxy` may use: `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`. Pure. */
import { badRequest } from '@tidegate/serving';

export interface ProxyName {
  /** Empty for the default. */
  scheme: string;
  name: string;
  /** Empty for the default. */
  port: string;
}

export function parseProxyName(text: string, resource: string): ProxyName {
  const parts = text.split(':');
  const [scheme = '', name = '', port = ''] =
    parts.length === 3 ? parts : ['', parts[0] ?? '', parts[1] ?? ''];
  if (parts.length > 3 || name === '' || !['', 'http', 'https'].includes(scheme))
    throw badRequest(`invalid ${resource} request ${JSON.stringify(text)}`);
  return { scheme, name, port };
}
