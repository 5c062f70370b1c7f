import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  apiVersionOf,
  backoffDelay,
  type Clock,
  INGRESSES,
  type Informers,
  type KubeClient,
  type Logger,
  type Random,
  sleep,
} from '@tidegate/kube';
import { HOST_CLAIMS, L7_ROUTERS, type L7Router } from '../api/index.ts';
import { classesOf } from '../ingress/classes/index.ts';
import type { Compiler } from '../ingress/compile/index.ts';
import type { HostName } from '../ingress/model.ts';

interface OwnL7RouterOptions {
  client: KubeClient;
  informers: Informers;
  compiler: Compiler;
  /** The name of the L7Router. */
  router: string;
  /** Identifies this agent among the replicas of the L7Router: the name of its pod. */
  agentName: string;
  touch(what: 'routes'): void;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** How long a generation waits for the Ingresses of its hosts. */
const PATIENCE_MS = 10_000;
const BACKOFF = { baseMs: 500, maxMs: 30_000 };

/**
 * Follows the L7Router object of this router. Its spec lists the hosts to serve. Once every worker of the data plane
 * serves them, the agent writes the object's generation to `status.agents[].appliedGeneration`. The manager relies on it:
 * a host that moves to another router is removed from the old one only after all agents of the new one serve it.
 */
export class OwnL7Router {
  /** Resolves when the L7Router exists. */
  readonly known: Promise<void>;
  readonly #options: OwnL7RouterOptions;
  readonly #applier: Applier;
  #router: L7Router | undefined;
  /** Hosts of the spec that had no routes yet. */
  readonly #pending = new Set<HostName>();
  #isPatient = false;
  /** The generation that every worker serves. */
  #served: number | undefined;
  /** The generation in the status. It follows `#served`; generations in between can be skipped. */
  #reported: number | undefined;
  #reporting = false;

  constructor(options: OwnL7RouterOptions) {
    this.#options = options;
    this.#applier = new Applier(options.client, options.agentName);
    const informer = options.informers.for(L7_ROUTERS, { fieldSelector: `metadata.name=${options.router}` });
    this.known = new Promise((resolve) => {
      const follow = (router: L7Router): void => {
        this.#follow(router);
        resolve();
      };
      // After the L7Router is deleted, the agent serves until it is stopped: other routers may not serve its hosts
      // yet.
      informer.addHandler({ onAdd: follow, onUpdate: (_, router) => follow(router) });
    });
  }

  get isKnown(): boolean {
    return this.#router !== undefined;
  }

  /** The generation whose hosts the compiler uses. */
  get generation(): number | undefined {
    return this.#router?.metadata.generation;
  }

  /**
   * Every worker serves the routes that were compiled for this generation: reports it. Placement adds a host because it has an
   * Ingress, so a host without routes means that this agent has not received the Ingress or its claim yet. The generation
   * counts as served only when it has, but a host that never gets routes does not hold it up for long.
   */
  served(generation: number | undefined, signal: AbortSignal): void {
    if (generation === undefined || generation === this.#served) return;
    const { compiler } = this.#options;
    for (const host of this.#pending) if (compiler.hasRoutes(host)) this.#pending.delete(host);
    if (this.#pending.size > 0) {
      this.#wait(signal);
      return;
    }
    this.#served = generation;
    void this.#report(signal);
  }

  #wait(signal: AbortSignal): void {
    if (this.#isPatient) return;
    this.#isPatient = true;
    const giveUp = (): void => {
      this.#isPatient = false;
      this.#pending.clear();
      this.#options.touch('routes');
    };
    sleep(this.#options.clock, PATIENCE_MS, signal).then(giveUp, () => {}); // Aborted: the agent ends.
  }

  #follow(router: L7Router): void {
    const { compiler, touch } = this.#options;
    // The status changes often, but only a change of the spec increases the generation.
    if (this.generation === router.metadata.generation) return;
    const before = new Set(this.#router?.spec.hosts);
    const hosts = new Set(router.spec.hosts);
    for (const host of this.#pending) if (!hosts.has(host)) this.#pending.delete(host);
    for (const host of hosts) if (!before.has(host)) this.#pending.add(host);
    const classNames = classesOf(router);
    if (!isDeepStrictEqual(classNames, this.#router && classesOf(this.#router))) this.#setClasses(classNames);
    this.#router = router;
    compiler.setServedHosts(router.spec.hosts);
    touch('routes');
  }

  /** Classes can join a shared router while it runs. Before the informers are synced, their objects are put by the feed. */
  #setClasses(classNames: readonly string[]): void {
    const { compiler, informers } = this.#options;
    compiler.setClassNames(classNames);
    for (const claim of informers.for(HOST_CLAIMS).cache.list()) compiler.put('HostClaim', claim);
    for (const ingress of informers.for(INGRESSES).cache.list()) compiler.put('Ingress', ingress);
  }

  /** Retries until the status is written. Never rejects. */
  async #report(signal: AbortSignal): Promise<void> {
    if (this.#reporting) return;
    this.#reporting = true;
    const { clock, random, log } = this.#options;
    for (let failures = 0; this.#reported !== this.#served && !signal.aborted; ) {
      try {
        await this.#write(this.#served ?? 0, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        log.warn(
          { err: error, router: this.#options.router },
          'cannot report the applied generation in the status of the L7Router; retrying',
        );
        await sleep(clock, backoffDelay(failures++, BACKOFF, random), signal).catch(() => {}); // Aborted: the loop ends.
      }
    }
    this.#reporting = false;
  }

  /** Server-side apply with the name of the pod as field manager: each agent owns only its entry of the list. */
  async #write(generation: number, signal: AbortSignal): Promise<void> {
    const { router, agentName, clock } = this.#options;
    const time = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const entry = { name: agentName, appliedGeneration: generation, time };
    await this.#applier.applyStatus(
      {
        apiVersion: apiVersionOf(L7_ROUTERS.group, L7_ROUTERS.version),
        kind: 'L7Router',
        metadata: { name: router },
        status: { agents: [entry] },
      },
      { resource: L7_ROUTERS, signal },
    );
    this.#reported = generation;
  }
}
