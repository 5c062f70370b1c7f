import {
  type Routes,
  rulesOf,
  tagsOf,
  wantedOf,
} from '../../packages/tidegate/src/dataplane/octavia/plan/index.ts';
import { backendTag, memberName } from '../../packages/tidegate/src/dataplane/octavia/run/observe.ts';

const SETTINGS = { connectTimeoutMs: 5_000, readTimeoutMs: 60_000, allowedCidrs: [] };

/**
 * A load balancer with all rules, as the body of one call. The provisioner does not create load balancers like this,
 * because some versions and providers of Octavia never finish it, but it saves thousands of calls before a measurement.
 */
export function seededLoadBalancer(name: string, subnet: string, project: string, routes: Routes): object {
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
    timeout_member_connect: SETTINGS.connectTimeoutMs,
    timeout_member_data: SETTINGS.readTimeoutMs,
    l7policies,
  };
  const tags = [`tidegate.io/cluster=${name}`, `tidegate.io/router=${name}`];
  return {
    loadbalancer: { name, vip_subnet_id: subnet, project_id: project, tags, pools, listeners: [listener] },
  };
}
