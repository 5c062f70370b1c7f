import {
  Applier,
  apiVersionOf,
  backoffDelay,
  type Clock,
  type Informers,
  type KubeClient,
  type Logger,
  type Random,
  sleep,
} from '@tidegate/kube';
import { L7_ROUTERS, type L7Router } from '../api/index.ts';
import type { Compiler } from '../ingress/compile/index.ts';

interface OwnL7RouterOptions {
  client: KubeClient;
  informers: Informers;
  compiler: Compiler;
  /** Of the L7Router. */
  router: string;
  /** Ours, among all who run for it: the name of the pod. */
  agentName: string;
  touch(what: 'routes'): void;
  clock: Clock;
  random: Random;
  log: Logger;
}

const BACKOFF = { baseMs: 500, maxMs: 30_000 };

/** Which hosts are ours, by our L7Router; and tells there which generation of it is served. */
export class OwnL7Router {
  /** Resolves when there is such a router. */
  readonly known: Promise<void>;
  readonly #options: OwnL7RouterOptions;
  readonly #applier: Applier;
  #router: L7Router | undefined;
  #served: number | undefined;
  #told: number | undefined;
  #telling = false;

  constructor(options: OwnL7RouterOptions) {
    this.#options = options;
    this.#applier = new Applier(options.client, options.agentName);
    const informer = options.informers.for(L7_ROUTERS, { fieldSelector: `metadata.name=${options.router}` });
    this.known = new Promise((resolve) => {
      const place = (router: L7Router): void => {
        this.#place(router);
        resolve();
      };
      // A router that is deleted goes on until it is ended: others may not have taken its hosts over yet.
      informer.addHandler({ onAdd: place, onUpdate: (_, router) => place(router) });
    });
  }

  get isKnown(): boolean {
    return this.#router !== undefined;
  }

  /** The generation whose hosts the compiler goes by. */
  get generation(): number | undefined {
    return this.#router?.metadata.generation;
  }

  /** All that this generation says is served. */
  served(generation: number | undefined, signal: AbortSignal): void {
    if (generation === undefined || generation === this.#served) return;
    this.#served = generation;
    void this.#tell(signal);
  }

  #place(router: L7Router): void {
    const { compiler, touch } = this.#options;
    // Its status changes more often than what it is for.
    if (this.generation === router.metadata.generation) return;
    this.#router = router;
    compiler.setServedHosts(router.spec.hosts);
    touch('routes');
  }

  /** Never rejects: whoever waits for it waits for a status, however often it takes to write it. */
  async #tell(signal: AbortSignal): Promise<void> {
    if (this.#telling) return;
    this.#telling = true;
    const { clock, random, log } = this.#options;
    for (let failures = 0; this.#told !== this.#served && !signal.aborted; ) {
      try {
        await this.#write(this.#served ?? 0, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        log.warn(
          { err: error, router: this.#options.router },
          'can not tell the L7Router what is served; trying again',
        );
        await sleep(clock, backoffDelay(failures++, BACKOFF, random), signal).catch(() => {}); // Aborted: the loop ends.
      }
    }
    this.#telling = false;
  }

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
    this.#told = generation;
  }
}
