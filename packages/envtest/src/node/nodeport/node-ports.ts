import {
  type Clock,
  Controller,
  type EndpointSlice,
  type EventRecorder,
  type Informer,
  keyOf,
  type Logger,
  type ReconcileResult,
  type Service,
  serviceOfSlice,
  systemClock,
} from '@tidegate/kube';
import { Balancer } from './balancer.ts';
import { Forwarder } from './forwarder.ts';
import { type Target, targetsOf } from './targets.ts';

/** Options of {@link NodePorts}. */
export interface NodePortsOptions {
  nodeName: string;
  /** The address to listen on. */
  address: string;
  services: Informer<Service>;
  slices: Informer<EndpointSlice>;
  recorder: EventRecorder;
  log: Logger;
  clock?: Clock;
}

interface Listener {
  service: string;
  balancer: Balancer;
  forwarder: Forwarder;
}

const RETRY_MS = 5_000;

/** The NodePorts of one node: one listener each, which forwards to the endpoints that the hub shows to this node. */
export class NodePorts {
  readonly #options: NodePortsOptions;
  readonly #clock: Clock;
  readonly #controller: Controller;
  /** By port. */
  readonly #listeners = new Map<number, Listener>();
  readonly #portsOf = new Map<string, Set<number>>();
  /** Forwarders that no longer listen, but still have open connections. */
  readonly #retired = new Set<Forwarder>();

  constructor(options: NodePortsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    options.slices.addIndex('service', servicesOf);
    this.#controller = new Controller({
      name: 'node-ports',
      reconcile: (key) => this.#reconcile(key),
      log: options.log,
      clock: this.#clock,
    })
      .watch(options.services)
      .watch(options.slices, servicesOf);
  }

  /** Runs until the signal is aborted, and then ends every connection. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#controller.run(signal);
    for (const { forwarder } of this.#listeners.values()) forwarder.close();
    for (const forwarder of this.#retired) forwarder.close();
    this.#listeners.clear();
  }

  /** Opens, updates and retires the listeners of one Service. */
  async #reconcile(key: string): Promise<ReconcileResult | undefined> {
    const { services, slices, nodeName } = this.#options;
    const service = services.cache.get(key);
    const targets =
      service === undefined ? [] : targetsOf(service, slices.cache.byIndex('service', key), nodeName);
    this.#retireOthers(key, new Set(targets.map(({ nodePort }) => nodePort)));
    let complete = true;
    for (const target of targets) complete = (await this.#serve(key, service!, target)) && complete;
    return complete ? undefined : { requeueAfter: RETRY_MS };
  }

  /** Stops listening on ports that the Service no longer has. Their open connections continue until they end. */
  #retireOthers(key: string, wanted: ReadonlySet<number>): void {
    for (const port of this.#portsOf.get(key) ?? []) {
      if (wanted.has(port)) continue;
      const { forwarder } = this.#listeners.get(port)!;
      this.#listeners.delete(port);
      this.#retired.add(forwarder);
      void forwarder.stopListening().then(() => this.#retired.delete(forwarder));
      this.#portsOf.get(key)?.delete(port);
    }
    if (this.#portsOf.get(key)?.size === 0) this.#portsOf.delete(key);
  }

  /** False when the port is in use, by another program or by a Service that is about to release it. */
  async #serve(key: string, service: Service, { nodePort, endpoints, affinityMs }: Target): Promise<boolean> {
    const existing = this.#listeners.get(nodePort);
    if (existing !== undefined && existing.service !== key) return false;
    const balancer = existing?.balancer ?? new Balancer(this.#clock);
    balancer.update(endpoints, affinityMs);
    if (existing !== undefined) return true;
    const forwarder = new Forwarder(balancer, (err) =>
      this.#options.log.warn({ err, nodePort }, 'error on the listener of a NodePort'),
    );
    try {
      await forwarder.listen(nodePort, this.#options.address);
    } catch (error) {
      this.#report(service, nodePort, error as NodeJS.ErrnoException);
      return false;
    }
    this.#listeners.set(nodePort, { service: key, balancer, forwarder });
    this.#portsOf.set(key, (this.#portsOf.get(key) ?? new Set()).add(nodePort));
    return true;
  }

  #report(service: Service, port: number, error: NodeJS.ErrnoException): void {
    const { nodeName, address, recorder, log } = this.#options;
    const why = error.code === 'EADDRINUSE' ? 'the port is in use by another program' : error.message;
    const message = `node ${nodeName} cannot listen on ${address}:${port}: ${why}; retrying every ${RETRY_MS / 1000} s`;
    recorder.warning(service, 'NodePortNotListening', message);
    log.warn({ service: keyOf(service), port, code: error.code }, message);
  }
}

function servicesOf(slice: EndpointSlice): string[] {
  const service = serviceOfSlice(slice);
  return service === undefined ? [] : [service];
}
