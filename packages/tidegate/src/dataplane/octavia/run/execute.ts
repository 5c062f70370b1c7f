import type { JsonMap } from '@tidegate/kube';
import { isKind, type Octavia, type OctaviaKind, OpenStackError } from '../openstack/index.ts';
import {
  backendIn,
  type ListenerCertificates,
  type ListenerSettings,
  listenerIn,
  NOT_FOUND_BACKEND,
  type Observed,
  type PolicyTarget,
  policyIn,
  rulesOf,
  type Step,
  tagsOf,
} from '../plan/index.ts';
import type { CertificateStore, StoredCertificate } from './certificate-store.ts';
import { backendTag, isFailed, loadBalancerTag, memberName } from './observe.ts';
import { ProvisioningError, type Waiting } from './waiting.ts';

/** What steps work on. */
export interface Target {
  readonly octavia: Octavia;
  readonly loadBalancer: string;
  readonly waiting: Waiting;
  readonly store: CertificateStore | undefined;
  /** The subnet of members, if it is not that of the load balancer. */
  readonly memberSubnet?: string;
  /** The content of a certificate that a plan names. */
  readonly certificate: (name: string) => StoredCertificate;
}

/** Headers that the load balancer adds to requests. */
export const INSERT_HEADERS = {
  'X-Forwarded-For': 'true',
  'X-Forwarded-Port': 'true',
  'X-Forwarded-Proto': 'true',
};

/** A step names an object that does not exist any more: another program has deleted it. */
export class GoneError extends Error {
  override readonly name = 'GoneError';
}

/**
 * Makes one step, and waits until Octavia has done it. Resolves to the ID of the object that the step created. While
 * the load balancer is changing, Octavia refuses writes: the step waits and tries again.
 */
export async function execute(
  step: Step,
  state: Observed,
  target: Target,
  signal: AbortSignal,
): Promise<string> {
  const { octavia, waiting } = target;
  const write = <T>(call: () => Promise<T>): Promise<T> =>
    waiting.whileBusy(target.loadBalancer, call, signal);
  const create = async (kind: OctaviaKind, body: JsonMap): Promise<string> => {
    const { id } = await write(() => octavia.create(kind, body, signal));
    await waiting.untilActive(kind, id, signal);
    return id;
  };
  const update = async (kind: OctaviaKind, id: string, body: JsonMap): Promise<string> => {
    await write(() => octavia.update(kind, id, body, signal));
    await waiting.untilActive(kind, id, signal);
    return id;
  };
  const remove = async (kind: OctaviaKind, id: string): Promise<string> => {
    try {
      await write(() => octavia.delete(kind, id, {}, signal));
    } catch (error) {
      if (!isKind(error, 'notFound')) throw error;
    }
    await waiting.untilGone(kind, id, signal);
    return id;
  };
  switch (step.kind) {
    case 'storeCertificate':
      return storeOf(target).store(step.certificate, target.certificate(step.certificate), signal);
    case 'deleteCertificate':
      await storeOf(target).delete(step.certificate, signal);
      return step.certificate;
    case 'createBackend': {
      const { id, name, algorithm, tls } = step.backend;
      return create('pools', {
        loadbalancer_id: target.loadBalancer,
        protocol: 'HTTP',
        lb_algorithm: algorithm,
        name,
        tags: [backendTag(id)],
        ...(tls && { tls_enabled: true }),
      });
    }
    case 'updateBackend': {
      const { name, algorithm, tls } = step;
      return update('pools', poolIn(state, step.backend), {
        name,
        lb_algorithm: algorithm,
        tls_enabled: tls,
      });
    }
    case 'setMembers': {
      const pool = poolIn(state, step.backend);
      const members = step.members.map((member) => ({
        address: member.address,
        protocol_port: member.port,
        weight: member.weight,
        name: memberName(member),
        ...(target.memberSubnet !== undefined && { subnet_id: target.memberSubnet }),
      }));
      await write(() => octavia.setMembers(pool, members, signal));
      await waiting.untilActive('pools', pool, signal);
      return pool;
    }
    case 'createMonitor': {
      const { type, delay, timeout, retries, path } = step.monitor;
      return create('healthmonitors', {
        pool_id: poolIn(state, step.backend),
        ...{ type, delay, timeout, max_retries: retries, tags: [loadBalancerTag(target.loadBalancer)] },
        ...(path !== undefined && { url_path: path, http_method: 'GET', expected_codes: '200-399' }),
      });
    }
    case 'deleteMonitor':
      return remove('healthmonitors', step.id);
    case 'deleteBackend':
      return remove('pools', step.id);
    case 'createListener':
      return create('listeners', {
        loadbalancer_id: target.loadBalancer,
        name: `tidegate_${step.listener}`,
        protocol: step.listener === 'http' ? 'HTTP' : 'TERMINATED_HTTPS',
        protocol_port: step.settings.port,
        admin_state_up: false,
        default_pool_id: poolIn(state, NOT_FOUND_BACKEND),
        insert_headers: INSERT_HEADERS,
        ...settingsBody(step.settings),
        ...(await certificateBody(step.certificates, target, signal)),
      });
    case 'updateListener': {
      const { settings, certificates, fallback, enabled } = step;
      return update('listeners', found(listenerIn(state, step.listener)?.listener, step), {
        ...(settings && settingsBody(settings)),
        ...(await certificateBody(certificates, target, signal)),
        ...(fallback !== undefined && { default_pool_id: poolIn(state, fallback) }),
        ...(enabled !== undefined && { admin_state_up: enabled }),
      });
    }
    case 'deleteListener':
      return remove('listeners', step.id);
    case 'createPolicy':
      return create('l7policies', {
        listener_id: found(listenerIn(state, step.listener)?.listener, step),
        position: step.position,
        admin_state_up: step.enabled,
        tags: tagsOf(step.key),
        ...targetBody(state, step.target),
      });
    case 'createRule': {
      const { policy, rules } = found(policyIn(state, step), step);
      const { id } = await write(() => octavia.createRule(policy, step.rule, signal));
      await waiting.untilActive('l7policies', policy, signal);
      const count = 1 + (typeof rules === 'number' ? rules : rules.length);
      if (count < (rulesOf(step.key) ?? []).length) return id;
      const failed = (await octavia.rules(policy, signal)).find(isFailed);
      if (failed === undefined) return id;
      // The policy itself is ACTIVE: only the rule has the status ERROR. The next plan creates both again.
      await remove('l7policies', policy);
      throw new ProvisioningError(
        `Octavia reports the status ERROR for l7policies/${policy}/rules/${failed.id}`,
      );
    }
    case 'updatePolicy':
      return update('l7policies', found(policyIn(state, step)?.policy, step), {
        ...(step.target && targetBody(state, step.target)),
        ...(step.enabled !== undefined && { admin_state_up: step.enabled }),
      });
    case 'deletePolicy':
      return remove('l7policies', step.id);
  }
}

function found<T>(object: T | undefined, { kind }: Pick<Step, 'kind'>): T {
  if (object === undefined) throw new GoneError(`${kind}: the object does not exist`);
  return object;
}

const poolIn = (state: Observed, backend: string): string =>
  found(backendIn(state, backend)?.pool, { kind: 'setMembers' });

function targetBody(state: Observed, target: PolicyTarget): JsonMap {
  if ('backend' in target)
    return { action: 'REDIRECT_TO_POOL', redirect_pool_id: poolIn(state, target.backend) };
  return { action: 'REDIRECT_PREFIX', redirect_prefix: target.redirectPrefix, redirect_http_code: 308 };
}

const settingsBody = ({ connectTimeoutMs, readTimeoutMs, allowedCidrs }: ListenerSettings): JsonMap => ({
  timeout_member_connect: connectTimeoutMs,
  timeout_member_data: readTimeoutMs,
  timeout_client_data: readTimeoutMs,
  ...(allowedCidrs.length > 0 ? { allowed_cidrs: [...allowedCidrs] } : { allowed_cidrs: null }),
});

async function certificateBody(
  certificates: ListenerCertificates | undefined,
  target: Target,
  signal: AbortSignal,
): Promise<JsonMap> {
  if (certificates === undefined) return {};
  const refs = new Map([...(await storeOf(target).list(signal))].map(([ref, name]) => [name, ref]));
  const refOf = (name: string): string => found(refs.get(name), { kind: 'storeCertificate' });
  return {
    default_tls_container_ref: refOf(certificates.default),
    sni_container_refs: certificates.sni.map(refOf),
  };
}

function storeOf({ store }: Target): CertificateStore {
  if (store !== undefined) return store;
  throw new OpenStackError(
    'HTTPS needs a certificate store: set the parameter certificates of the class to barbican or local.',
    { status: 0, kind: 'invalid' },
  );
}
