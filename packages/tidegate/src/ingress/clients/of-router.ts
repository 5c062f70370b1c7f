import type { L7Router } from '../../api/index.ts';
import { readNetwork } from '../policy/networks.ts';
import type { ClientSettings } from './model.ts';

const HTTP = 80;
const HTTPS = 443;

/**
 * The settings in the spec of a router. A network that cannot be read is left out. Without a network, no header
 * counts.
 */
export function clientsOf({ spec }: Pick<L7Router, 'spec'>): ClientSettings {
  const { httpPort, httpsPort, trustedProxies = [], header, wholeUrl, fullForwardedFor } = spec.clients ?? {};
  const trusted = trustedProxies.flatMap((text) => readNetwork(text) ?? []).filter(({ bits }) => bits > 0);
  return {
    ports: {
      http: httpPort ?? spec.workload?.httpPort ?? HTTP,
      https: httpsPort ?? spec.workload?.httpsPort ?? HTTPS,
    },
    ...(trusted.length > 0 && {
      trusted,
      ...(header !== undefined && { header: header.toLowerCase() }),
      ...(wholeUrl === true && { wholeUrl }),
      ...(fullForwardedFor === true && { fullForwardedFor }),
    }),
  };
}
