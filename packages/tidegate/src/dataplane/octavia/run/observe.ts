import { isJsonMap, type JsonMap } from '@tidegate/kube';
import { idsIn, type Octavia, type OctaviaObject, tagsIn, textIn } from '../openstack/index.ts';
import {
  keyOfTags,
  type ListenerCertificates,
  type ListenerName,
  type Member,
  type Observed,
  type ObservedBackend,
  type ObservedListener,
  type ObservedPolicy,
  type PolicyTarget,
  type Rule,
  rulesOf,
} from '../plan/index.ts';
import type { CertificateStore } from './certificate-store.ts';

/** On a pool: the backend that it is for. */
const BACKEND_TAG = 'u=';
/** On a health monitor: its load balancer, because Octavia cannot list the monitors of one. */
const LOAD_BALANCER_TAG = 'lb=';
/** The name of a member has its weight, because the tree of statuses has names but no weights. */
const WEIGHT_NAME = /^weight-(\d+)$/;

export const backendTag = (id: string): string => `${BACKEND_TAG}${id}`;
export const loadBalancerTag = (id: string): string => `${LOAD_BALANCER_TAG}${id}`;
export const memberName = ({ weight }: Member): string => `weight-${weight}`;

export const isFailed = ({ provisioning_status: status }: OctaviaObject): boolean => status === 'ERROR';

/**
 * Reads everything that a load balancer has. The number of calls does not depend on the number of routes: about six, and
 * one for each pool that no listener uses and each policy whose creation was interrupted.
 */
export async function observe(
  octavia: Octavia,
  loadBalancer: string,
  store: CertificateStore | undefined,
  signal?: AbortSignal,
): Promise<Observed> {
  const of = { loadbalancer_id: loadBalancer };
  const pools = await octavia.list('pools', of, signal);
  const listeners = await octavia.list('listeners', of, signal);
  const monitors = pools.some(({ healthmonitor_id: id }) => typeof id === 'string')
    ? await octavia.list('healthmonitors', { tags: loadBalancerTag(loadBalancer) }, signal)
    : [];
  const members =
    listeners.length === 0 ? new Map() : membersIn(await octavia.statusTree(loadBalancer, signal));
  const backends: ObservedBackend[] = [];
  for (const pool of pools) {
    const known = idsIn(pool, 'members').length === 0 ? [] : members.get(pool.id);
    const list = known ?? (await octavia.members(pool.id, signal)).map(memberOf);
    backends.push(backendOf(pool, list, monitors));
  }
  const certificates = await store?.list(signal);
  // Two managers can create the same pool. The plan keeps the first, so what uses another one gets a new target first.
  const first = new Map(backends.toReversed().map(({ pool, id }) => [id, pool]));
  const byPool = new Map([...first].map(([id, pool]) => [pool, id]));
  return {
    backends,
    listeners: await Promise.all(
      listeners.map(async (listener) => ({
        ...listenerOf(listener, byPool, certificates ?? new Map()),
        policies: await policiesOf(octavia, listener.id, byPool, signal),
      })),
    ),
    certificates: [...(certificates?.values() ?? [])].toSorted(),
  };
}

function backendOf(
  pool: OctaviaObject,
  members: readonly Member[],
  monitors: readonly OctaviaObject[],
): ObservedBackend {
  const tag = tagsIn(pool).find((each) => each.startsWith(BACKEND_TAG));
  const isUsable = tag !== undefined && !isFailed(pool);
  const monitor = monitors.find((each) => idsIn(each, 'pools').includes(pool.id));
  return {
    pool: pool.id,
    // A pool in ERROR, or of another program, is replaced.
    id: isUsable ? tag.slice(BACKEND_TAG.length) : `*unusable ${pool.id}`,
    name: textIn(pool, 'name'),
    algorithm: pool.lb_algorithm === 'LEAST_CONNECTIONS' ? 'LEAST_CONNECTIONS' : 'ROUND_ROBIN',
    tls: pool.tls_enabled === true,
    members,
    ...(monitor !== undefined && {
      monitor: {
        monitorId: monitor.id,
        type: monitor.type === 'HTTP' ? 'HTTP' : 'TCP',
        delay: Number(monitor.delay),
        timeout: Number(monitor.timeout),
        retries: Number(monitor.max_retries),
        ...(monitor.type === 'HTTP' && { path: textIn(monitor, 'url_path') }),
      },
    }),
  };
}

const memberOf = (member: JsonMap): Member => ({
  address: textIn(member, 'address').toLowerCase(),
  port: Number(member.protocol_port),
  weight:
    member.provisioning_status === 'ERROR' ? -1 : Number(WEIGHT_NAME.exec(textIn(member, 'name'))?.[1] ?? -1),
});

/** The members of each pool. A pool is repeated below each listener that uses it. */
function membersIn({ listeners }: JsonMap): Map<string, Member[]> {
  const found = new Map<string, Member[]>();
  for (const listener of mapsIn(listeners))
    for (const pool of mapsIn(listener.pools))
      found.set(textIn(pool, 'id'), mapsIn(pool.members).map(memberOf));
  return found;
}

const mapsIn = (list: unknown): JsonMap[] => (Array.isArray(list) ? list.filter(isJsonMap) : []);

function listenerOf(
  listener: OctaviaObject,
  backends: ReadonlyMap<string, string>,
  certificates: ReadonlyMap<string, string>,
): Omit<ObservedListener, 'policies'> {
  const name = listenerName(listener);
  const nameOf = (ref: string): string => certificates.get(ref) ?? ref;
  const sni = Array.isArray(listener.sni_container_refs) ? listener.sni_container_refs.map(String) : [];
  const used: ListenerCertificates = {
    default: nameOf(textIn(listener, 'default_tls_container_ref')),
    sni: sni.map(nameOf).toSorted(),
  };
  return {
    listener: listener.id,
    name,
    // An update repairs a listener in ERROR.
    enabled: listener.admin_state_up === true && !isFailed(listener),
    fallback: backends.get(textIn(listener, 'default_pool_id')),
    settings: {
      port: Number(listener.protocol_port),
      connectTimeoutMs: Number(listener.timeout_member_connect),
      readTimeoutMs: Number(listener.timeout_member_data),
      allowedCidrs: Array.isArray(listener.allowed_cidrs)
        ? listener.allowed_cidrs.map(String).toSorted()
        : [],
    },
    ...(name === 'https' && { certificates: used }),
  };
}

function listenerName({ protocol, protocol_port: port }: OctaviaObject): ListenerName | undefined {
  if (protocol === 'HTTP' && port === 80) return 'http';
  return protocol === 'TERMINATED_HTTPS' && port === 443 ? 'https' : undefined;
}

async function policiesOf(
  octavia: Octavia,
  listener: string,
  backends: ReadonlyMap<string, string>,
  signal?: AbortSignal,
): Promise<ObservedPolicy[]> {
  const policies = await octavia.list('l7policies', { listener_id: listener }, signal);
  const observed: ObservedPolicy[] = [];
  for (const policy of policies.toSorted((a, b) => Number(a.position) - Number(b.position))) {
    const key = keyOfTags(tagsIn(policy));
    const enabled = policy.admin_state_up === true;
    const count = idsIn(policy, 'rules').length;
    const isComplete = enabled && key !== undefined && count === rulesOf(key)?.length;
    const rules = isComplete || count === 0 ? undefined : await octavia.rules(policy.id, signal);
    // A policy in ERROR is replaced.
    const isUsable = !isFailed(policy) && rules?.some(isFailed) !== true;
    observed.push({
      policy: policy.id,
      key: isUsable ? key : undefined,
      target: targetOf(policy, backends),
      enabled,
      rules: rules?.map(ruleOf) ?? count,
    });
  }
  return observed;
}

function targetOf(policy: OctaviaObject, backends: ReadonlyMap<string, string>): PolicyTarget | undefined {
  if (policy.action === 'REDIRECT_PREFIX') return { redirectPrefix: textIn(policy, 'redirect_prefix') };
  const backend = backends.get(textIn(policy, 'redirect_pool_id'));
  return backend === undefined ? undefined : { backend };
}

const ruleOf = (rule: OctaviaObject): Rule => ({
  type: textIn(rule, 'type') as Rule['type'],
  compare_type: textIn(rule, 'compare_type') as Rule['compare_type'],
  value: textIn(rule, 'value'),
});
