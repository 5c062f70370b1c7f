import {
  type Routes,
  rulesOf,
  tagsOf,
  wantedOf,
} from '../../packages/tidegate/src/dataplane/octavia/plan/index.ts';
import { INSERT_HEADERS } from '../../packages/tidegate/src/dataplane/octavia/run/execute.ts';
import { backendTag, memberName } from '../../packages/tidegate/src/dataplane/octavia/run/observe.ts';

const SETTINGS = { connectTimeoutMs: 5_000, readTimeoutMs: 60_000, allowedCidrs: [] };

/** The pools and the listener of a router with all of its rules, as the provisioner leaves them behind. */
export function seededRoutes(routes: Routes): object {
  const { wanted } = wantedOf(routes, {
    http: { ...SETTINGS, port: 80 },
    https: { ...SETTINGS, port: 443 },
    hasStore: false,
    certificatePrefix: '',
  });
  const nameOf = (id: string): string => `${wanted.backends.get(id)?.name}`;
  const pools = [...wanted.backends.values()].map((backend) => ({
    name: backend.name,
    protocol: 'HTTP',
    lb_algorithm: backend.algorithm,
    tags: [backendTag(backend.id)],
    members: backend.members.map((member) => ({
      address: member.address,
      protocol_port: member.port,
      weight: member.weight,
      name: memberName(member),
    })),
  }));
  const l7policies = (wanted.listeners.get('http')?.policies ?? []).map(({ key, target }, index) => ({
    action: 'REDIRECT_TO_POOL',
    redirect_pool: { name: 'backend' in target ? nameOf(target.backend) : '' },
    position: index + 1,
    tags: tagsOf(key),
    rules: rulesOf(key),
  }));
  const listener = {
    name: 'tidegate_http',
    protocol: 'HTTP',
    protocol_port: 80,
    default_pool: { name: nameOf('*not-found') },
    insert_headers: INSERT_HEADERS,
    timeout_client_data: SETTINGS.readTimeoutMs,
    timeout_member_connect: SETTINGS.connectTimeoutMs,
    timeout_member_data: SETTINGS.readTimeoutMs,
    l7policies,
  };
  return { pools, listeners: [listener] };
}
