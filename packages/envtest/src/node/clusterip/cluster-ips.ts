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
} from '@tidegate/kube';
import { recentListener } from '../../machine/index.ts';
import { Balancer } from '../nodeport/balancer.ts';
import { Forwarder, reset } from '../nodeport/forwarder.ts';
import { servicesOf } from '../nodeport/node-ports.ts';
import { type ClusterTarget, clusterTargetsOf } from '../nodeport/targets.ts';
import { nodeStateOf } from './client-node.ts';
import { type Handed, HandoverServer, handOver } from './handover.ts';

/** Options of {@link ClusterIPs}. */
export interface ClusterIPsOptions {
  nodeName: string;
  /** Identifies this node among the nodes of the machine, and holds the socket on which others pass connections. */
  stateDirectory: string;
  services: Informer<Service>;
  /** With an index `service`. */
  slices: Informer<EndpointSlice>;
  recorder: EventRecorder;
  log: Logger;
  clock: Clock;
}

interface Served {
  service: string;
  balancer: Balancer;
  forwarder: Forwarder;
  /** Whether this agent listens. Otherwise another agent of the machine does, and passes connections on. */
  listens: boolean;
}

/** How soon an address is tried again after the agent that listens on it has ended. */
const RETRY_MS = 2_000;

/** The ClusterIPs of one node; see `index.ts`. */
export class ClusterIPs {
  readonly #options: ClusterIPsOptions;
  readonly #controller: Controller;
  /** By `address:port`. */
  readonly #served = new Map<string, Served>();
  /** The names in `#served` by Service, so that a change of one Service does not look at all others. */
  readonly #namesOf = new Map<string, Set<string>>();
  /** Forwarders that no longer listen, but still have open connections. */
  readonly #retired = new Set<Forwarder>();
  readonly #reported = new Set<string>();
  readonly #isListening = recentListener();

  constructor(options: ClusterIPsOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: 'cluster-ips',
      reconcile: (key) => this.#reconcile(key),
      log: options.log,
      clock: options.clock,
    })
      .watch(options.services)
      .watch(options.slices, servicesOf);
  }

  /** Runs until the signal is aborted, and then ends every connection. */
  async run(signal: AbortSignal): Promise<void> {
    const handover = await HandoverServer.listen(this.#options.stateDirectory, (handed) =>
      this.#take(handed),
    );
    await this.#controller.run(signal);
    await handover.close();
    for (const { forwarder } of this.#served.values()) forwarder.close();
    for (const forwarder of this.#retired) forwarder.close();
    this.#served.clear();
  }

  async #reconcile(key: string): Promise<ReconcileResult | undefined> {
    const { services, slices, nodeName } = this.#options;
    const service = services.cache.get(key);
    const targets =
      service === undefined ? [] : clusterTargetsOf(service, slices.cache.byIndex('service', key), nodeName);
    this.#retireOthers(key, new Set(targets.map(nameOf)));
    let complete = true;
    for (const target of targets) complete = (await this.#serve(key, service!, target)) && complete;
    return complete ? undefined : { requeueAfter: RETRY_MS };
  }

  #retireOthers(key: string, wanted: ReadonlySet<string>): void {
    const names = this.#namesOf.get(key);
    for (const name of names ?? []) {
      if (wanted.has(name)) continue;
      names?.delete(name);
      const served = this.#served.get(name);
      // Another Service may have got the address since.
      if (served?.service !== key) continue;
      this.#served.delete(name);
      this.#reported.delete(name);
      if (!served.listens) continue;
      const { forwarder } = served;
      this.#retired.add(forwarder);
      void forwarder.stopListening().then(() => this.#retired.delete(forwarder));
    }
    if (names?.size === 0) this.#namesOf.delete(key);
  }

  /** False when this agent does not listen, so that it tries again. */
  async #serve(key: string, service: Service, target: ClusterTarget): Promise<boolean> {
    const name = nameOf(target);
    const served = this.#served.get(name) ?? this.#newServed(key, name);
    this.#served.set(name, served);
    served.service = key;
    this.#namesOf.set(key, (this.#namesOf.get(key) ?? new Set()).add(name));
    served.balancer.update(target.endpoints, target.affinityMs);
    if (served.listens) return true;
    try {
      await served.forwarder.listen(target.port, target.address);
      served.listens = true;
      this.#reported.delete(name);
      return true;
    } catch (error) {
      this.#report(service, target, error as NodeJS.ErrnoException);
      return false;
    }
  }

  #newServed(service: string, name: string): Served {
    const { stateDirectory, log, clock } = this.#options;
    const balancer = new Balancer(clock);
    const forwarder = new Forwarder(
      balancer,
      (err) => log.debug({ err, clusterIP: name }, 'error on the listener of a ClusterIP'),
      (client, serve) => {
        const node = nodeStateOf(client);
        if (node === undefined || node === stateDirectory) serve();
        else void handOver(node, name, client, () => reset(client));
      },
    );
    return { service, balancer, forwarder, listens: false };
  }

  /** A connection that another agent accepted for a container of this node. */
  #take({ target, client, connection }: Handed): void {
    const served = this.#served.get(target);
    // The node does not know the Service, or may not see it.
    if (served === undefined) connection.destroy();
    else served.forwarder.serve(connection, client);
  }

  /** Once for each reason to act. That another agent of this machine listens is the normal case. */
  #report(service: Service, target: ClusterTarget, { code, message }: NodeJS.ErrnoException): void {
    const name = nameOf(target);
    if (this.#reported.has(name)) return;
    if (code === 'EADDRINUSE' && this.#isListening(target.address, target.port)) return;
    this.#reported.add(name);
    const { recorder, log } = this.#options;
    const text = `the ClusterIP does not answer on port ${target.port}: ${adviceFor(target.port, code) ?? message}`;
    recorder.warning(service, 'ClusterIPNotListening', text);
    log.warn({ service: keyOf(service), clusterIP: name, code }, text);
  }
}

const nameOf = ({ address, port }: ClusterTarget): string => `${address}:${port}`;

function adviceFor(port: number, code: string | undefined): string | undefined {
  if (code === 'EACCES') {
    return `only root may listen on it. Allow it with "sudo sysctl -w net.ipv4.ip_unprivileged_port_start=${port}", or use a port above 1023`;
  }
  return code === 'EADDRINUSE' ? 'another program listens on this port on all addresses; stop it' : undefined;
}
