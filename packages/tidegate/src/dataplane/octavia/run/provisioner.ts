import type { Clock, Logger } from '@tidegate/kube';
import type { L7Router } from '../../../api/index.ts';
import type { Certificate, HostName } from '../../../ingress/model.ts';
import type {
  Ensured,
  FailedHost,
  ProvisionContext,
  Provisioner,
  Reconciled,
  ReconcileProgress,
  Removed,
  RouterSnapshot,
} from '../../../ingress/provisioners/index.ts';
import { newDefaultCertificate } from '../../default-certificate.ts';
import { isKind, type KuryrSettings, Neutron, Octavia, type Session, textIn } from '../openstack/index.ts';
import {
  applyStep,
  certificateName,
  type Observed,
  ownCertificateName,
  plan,
  type Step,
  type Wanted,
  wantedOf,
} from '../plan/index.ts';
import { BarbicanStore } from './barbican-store.ts';
import type { CertificateStore, StoredCertificate } from './certificate-store.ts';
import { factsOf, notInEffect, notReady, POLL_MS, REPAIRS, retryLater } from './ensured.ts';
import { execute, GoneError, type Target } from './execute.ts';
import { explained } from './explained.ts';
import { FloatingIps } from './floating-ips.ts';
import { differences, LoadBalancers } from './load-balancers.ts';
import { LocalStore } from './local-store.ts';
import { observe } from './observe.ts';
import { PROFILE } from './profile.ts';
import { type OctaviaSettings, readSettings } from './settings.ts';
import { DEFAULT_WAITING, ProvisioningError, Waiting, type WaitingOptions } from './waiting.ts';

export interface OctaviaOptions {
  readonly session: Session;
  /** Identifies the cluster among all clusters that use the project. */
  readonly cluster: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly kuryr?: KuryrSettings;
  /** The directory of Octavia's local certificate manager, for classes with `certificates: local`. */
  readonly certificateDirectory?: string;
  readonly waiting?: Partial<WaitingOptions>;
}

/** A load balancer can be changed by others without an event, so everything is read again from time to time. */
const RESYNC_MS = 600_000;
const STORES = ['barbican', 'local'] as const;
/** How often a plan is made anew because what exists was not what the last plan expected. */
const MOST_PLANS = 5;

/** Calls of a plan before it gives way to a newer one, so that routes which change all the time are programmed too. */
const FEWEST_STEPS = 10;

/** What is known of a load balancer after the last change. */
interface Known {
  readonly loadBalancer: string;
  readonly state: Observed;
  readonly readAt: number;
}

/** Routers that are load balancers of Octavia. */
export class OctaviaProvisioner implements Provisioner {
  readonly controller = PROFILE.controller;
  readonly aliases = PROFILE.aliases;
  readonly driver = PROFILE.driver;
  readonly limits = PROFILE.limits;
  readonly capabilities = PROFILE.capabilities;
  readonly parameters = PROFILE.parameters;
  readonly programming = PROFILE.programming;
  readonly #options: OctaviaOptions;
  readonly #octavia: Octavia;
  readonly #loadBalancers: LoadBalancers;
  readonly #floatingIps: FloatingIps;
  readonly #waiting: Waiting;
  readonly #known = new Map<string, Known>();

  constructor(options: OctaviaOptions) {
    const { session, cluster, clock, waiting } = options;
    this.#options = options;
    this.#octavia = new Octavia(session);
    this.#loadBalancers = new LoadBalancers(this.#octavia, cluster, clock);
    this.#floatingIps = new FloatingIps(new Neutron(session), cluster);
    this.#waiting = new Waiting(this.#octavia, { ...DEFAULT_WAITING, clock, ...waiting });
  }

  endpointsOf({ spec }: L7Router): 'pods' | 'nodePorts' {
    return spec.parameters?.members === 'nodePorts' ? 'nodePorts' : 'pods';
  }

  async ensure(router: L7Router, { log }: ProvisionContext, signal: AbortSignal): Promise<Ensured> {
    const name = `${router.metadata.name}`;
    const settings = this.#settings(router);
    try {
      const before = router.status?.loadBalancer;
      const found = await this.#loadBalancers.ensure(name, settings, { before, log }, signal);
      if (typeof found === 'number') return retryLater(router, found);
      // Another program may have deleted the load balancer that is known.
      if (this.#known.get(name)?.loadBalancer !== found.id) this.#known.delete(name);
      const status = found.provisioning_status;
      if (status === 'ERROR') {
        this.#known.delete(name);
        const done = await this.#loadBalancers.repair(name, found, log, signal);
        return notReady(router, 'LoadBalancerError', REPAIRS[done], found);
      }
      if (status === 'PENDING_CREATE' || status === 'PENDING_DELETE')
        return notReady(
          router,
          'LoadBalancerPending',
          `The status of load balancer ${found.id} is ${status}.`,
          found,
        );
      const floating = await this.#floatingIps.ensure(name, textIn(found, 'vip_port_id'), settings, signal);
      return {
        addresses: [{ ip: floating?.address ?? textIn(found, 'vip_address') }],
        ready: true,
        ...notInEffect(differences(found, settings)),
        loadBalancer: factsOf(found),
      };
    } catch (error) {
      throw explained(error);
    }
  }

  async remove(router: L7Router, _: ProvisionContext, signal: AbortSignal): Promise<Removed> {
    const name = `${router.metadata.name}`;
    const { floatingIp, keepFloatingIp = 'false', certificates } = router.spec.parameters ?? {};
    this.#known.delete(name);
    this.#loadBalancers.forget(name);
    await this.#floatingIps.release(
      name,
      { keepFloatingIp: keepFloatingIp === 'true', ...(floatingIp && { floatingIp }) },
      router.status?.loadBalancer?.portID,
      signal,
    );
    return this.#removeRest(name, certificates === 'local' ? 'local' : 'barbican', signal);
  }

  /** The router has disappeared. Its class may be gone too, so nothing is known of its settings. */
  async forget(name: string, signal: AbortSignal): Promise<void> {
    this.#known.delete(name);
    this.#loadBalancers.forget(name);
    if (!(await this.routers(signal)).has(name)) return;
    this.#options.log.warn({ router: name }, 'deleting the load balancer of a router that does not exist');
    await this.#floatingIps.release(name, { keepFloatingIp: false }, undefined, signal);
    for (const kind of STORES) {
      for (;;) {
        const { gone } = await this.#removeRest(name, kind, signal);
        if (gone) break;
        await this.#waiting.pause(signal);
      }
    }
  }

  /** Names of all routers that have something in the cloud. The manager calls `forget` for those that do not exist. */
  async routers(signal: AbortSignal): Promise<Set<string>> {
    const routers = await this.#loadBalancers.routers(signal);
    for (const router of await this.#floatingIps.routers(signal)) routers.add(router);
    const start = `tidegate_${this.#options.cluster}_`;
    for (const kind of STORES) {
      const stored = await (await this.#storeOf(kind, start))?.list(signal);
      for (const name of stored?.values() ?? []) routers.add(`${name.slice(start.length).split('_')[0]}`);
    }
    return routers;
  }

  async reconcile(
    router: L7Router,
    snapshot: RouterSnapshot,
    signal: AbortSignal,
    { isOutdated }: ReconcileProgress = { isOutdated: () => false },
  ): Promise<Reconciled> {
    const name = `${router.metadata.name}`;
    for (let plans = 1; ; plans++) {
      try {
        const { target, steps, failed, state } = await this.#planned(router, snapshot, signal);
        const isDone = await this.#run(name, target, { state, steps, isOutdated }, signal);
        return { failed, ...(isDone ? { againAfterMs: RESYNC_MS } : { incomplete: true }) };
      } catch (error) {
        this.#known.delete(name);
        const isChanged =
          error instanceof GoneError ||
          (error instanceof ProvisioningError && !error.message.startsWith('load balancer')) ||
          isKind(error, 'notFound', 'conflict');
        if (!isChanged || plans >= MOST_PLANS) throw explained(error);
        this.#options.log.info({ router: name, error: (error as Error).message }, 'planning again');
      }
    }
  }

  /** The calls that `reconcile` would make. */
  async preview(
    router: L7Router,
    snapshot: RouterSnapshot,
    signal: AbortSignal,
  ): Promise<{ steps: readonly Step[]; failed: ReadonlyMap<HostName, FailedHost> }> {
    const { steps, failed } = await this.#planned(router, snapshot, signal);
    return { steps, failed };
  }

  async #planned(router: L7Router, snapshot: RouterSnapshot, signal: AbortSignal) {
    const name = `${router.metadata.name}`;
    const settings = this.#settings(router);
    const prefix = this.#prefix(name);
    const store = await this.#store(name, settings.certificates);
    const options = { ...settings.wanted, certificatePrefix: prefix, hasStore: store !== undefined };
    const { wanted, failed } = wantedOf(snapshot, options);
    const known = await this.#look(name, store, signal);
    const target: Target = {
      octavia: this.#octavia,
      loadBalancer: known.loadBalancer,
      waiting: this.#waiting,
      store,
      certificate: (certificate) =>
        contentOf(certificate, prefix, snapshot.certificates, this.#options.clock.now()),
      ...(settings.wanted.memberSubnet !== undefined && { memberSubnet: settings.wanted.memberSubnet }),
    };
    return {
      target,
      steps: plan(known.state, wanted),
      failed,
      state: known.state,
      wanted: wanted satisfies Wanted,
    };
  }

  /**
   * Makes the calls of a plan. A plan can take many minutes: if the routes change meanwhile, it stops after some calls, and
   * the next plan starts with new members. Returns whether all calls were made.
   */
  async #run(
    name: string,
    target: Target,
    { state: start, steps, isOutdated }: ReconcileProgress & { state: Observed; steps: readonly Step[] },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { loadBalancer } = target;
    let state = start;
    for (const [index, step] of steps.entries()) {
      if (index >= FEWEST_STEPS && isOutdated()) return false;
      const id = await execute(step, state, target, signal);
      state = applyStep(state, step, id);
      const readAt = this.#known.get(name)?.readAt ?? this.#options.clock.monotonic();
      this.#known.set(name, { loadBalancer, state, readAt });
    }
    // Octavia marks the load balancer after its parts: only now the change is complete.
    if (steps.length > 0) await this.#waiting.untilActive('loadbalancers', loadBalancer, signal);
    return true;
  }

  /** What the load balancer has: from the last change, or read from Octavia. */
  async #look(name: string, store: CertificateStore | undefined, signal: AbortSignal): Promise<Known> {
    const known = this.#known.get(name);
    const now = this.#options.clock.monotonic();
    if (known !== undefined && now - known.readAt < RESYNC_MS) return known;
    const [found] = await this.#loadBalancers.of(name, signal);
    if (found === undefined) throw new ProvisioningError(`load balancer of router ${name} does not exist`);
    // While a call of an earlier run is being done, its result is not visible.
    await this.#waiting.untilActive('loadbalancers', found.id, signal);
    const state = await observe(this.#octavia, found.id, store, signal);
    const read = { loadBalancer: found.id, state, readAt: now };
    this.#known.set(name, read);
    return read;
  }

  async #removeRest(
    name: string,
    kind: OctaviaSettings['certificates'],
    signal: AbortSignal,
  ): Promise<Removed> {
    if (!(await this.#loadBalancers.remove(name, signal))) return { gone: false, againAfterMs: POLL_MS };
    const store = await this.#store(name, kind);
    for (const certificate of (await store?.list(signal))?.values() ?? [])
      await store?.delete(certificate, signal);
    return { gone: true };
  }

  #settings(router: L7Router): OctaviaSettings {
    return readSettings(router, this.#options.kuryr ?? {});
  }

  /** Underscores are not part of names, so no prefix is the start of another one. */
  #prefix(router: string): string {
    return `tidegate_${this.#options.cluster}_${router}_`;
  }

  #store(router: string, kind: OctaviaSettings['certificates']): Promise<CertificateStore | undefined> {
    return this.#storeOf(kind, this.#prefix(router));
  }

  async #storeOf(
    kind: OctaviaSettings['certificates'],
    prefix: string,
  ): Promise<CertificateStore | undefined> {
    const { session, certificateDirectory } = this.#options;
    if (kind === 'barbican')
      return (await session.has('key-manager')) ? new BarbicanStore(session, prefix) : undefined;
    return certificateDirectory === undefined ? undefined : new LocalStore(certificateDirectory, prefix);
  }
}

function contentOf(
  name: string,
  prefix: string,
  certificates: ReadonlyMap<HostName, Certificate>,
  now: number,
): StoredCertificate {
  if (name === ownCertificateName(prefix)) return newDefaultCertificate(now);
  for (const each of certificates.values()) if (certificateName(prefix, each) === name) return each;
  throw new GoneError(`the certificate ${name} is not part of the routes any more`);
}
