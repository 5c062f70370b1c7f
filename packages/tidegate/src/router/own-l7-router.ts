import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  apiVersionOf,
  backoffDelay,
  type Clock,
  INGRESSES,
  type KubeClient,
  type Logger,
  type Random,
  Serial,
  sleep,
} from '@tidegate/kube';
import { HOST_CLAIMS, L7_ROUTERS, type L7Router, type RouterProblem } from '../api/index.ts';
import { classesOf } from '../ingress/classes/index.ts';
import { clientsOf } from '../ingress/clients/index.ts';
import type { Compiler } from '../ingress/compile/index.ts';
import { routerAddressesOf } from '../ingress/listed-addresses.ts';
import type { HostName } from '../ingress/model.ts';
import { defaultAnnotations } from '../ingress/nginx-config/index.ts';
import type { SecretVersions } from '../ingress/secret-versions.ts';
import { DepartingIngresses } from './departing-ingresses.ts';
import type { InformerSource } from './section-informers.ts';

interface OwnL7RouterOptions {
  client: KubeClient;
  informers: InformerSource;
  compiler: Compiler;
  /** The name of the L7Router. */
  router: string;
  /** Selects L7Routers that include this one. Default: only this one. */
  select?: { labelSelector: string };
  /** Identifies this agent among the replicas of the L7Router: the name of its pod. */
  agentName: string;
  touch(what: 'routes'): void;
  /** Called with every change of the L7Router. */
  onSecretVersions(versions: SecretVersions): void;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** How long a generation waits for the Ingresses of its hosts. */
const PATIENCE_MS = 10_000;
/** The time between two writes that only change problems. */
const PROBLEMS_PACE_MS = 2_000;
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
  readonly #departing: DepartingIngresses;
  #router: L7Router | undefined;
  /** Hosts of the spec that had no routes yet. */
  readonly #pending = new Set<HostName>();
  #isPatient = false;
  /** The generation that every worker serves. */
  #served: number | undefined;
  /** The generation in the status. It follows `#served`; generations in between can be skipped. */
  #reported: number | undefined;
  /** When the generation was served, as written. */
  #servedAt = '';
  /** Problems that only this agent can know, and those of them in the status. */
  #problems: readonly RouterProblem[] = [];
  #reportedProblems: readonly RouterProblem[] = [];
  /** Which policies are applied, and which of them are in the status; see `PolicyIndex.digest`. */
  #policies = '';
  #reportedPolicies = '';
  #reporting = false;
  #isReportingProblems = false;
  /** Failed writes in a row. */
  #failures = 0;
  /** Each write has the whole entry of the agent. */
  readonly #serial = new Serial();

  constructor(options: OwnL7RouterOptions) {
    this.#options = options;
    this.#applier = new Applier(options.client, options.agentName);
    this.#departing = new DepartingIngresses({
      ...options,
      classNames: () => (this.#router === undefined ? [] : classesOf(this.#router)),
      addresses: () => [informer.cache.get(options.router) ?? []].flat().flatMap(routerAddressesOf),
    });
    const informer = options.informers.for(
      L7_ROUTERS,
      options.select ?? { fieldSelector: `metadata.name=${options.router}` },
    );
    this.known = new Promise((resolve) => {
      const follow = (router: L7Router): void => {
        if (router.metadata.name !== options.router) return;
        this.#follow(router);
        options.onSecretVersions(router.status?.secretVersions ?? {});
        resolve();
      };
      // After the L7Router is deleted, the agent serves until it is stopped: other routers may not serve its hosts
      // yet.
      informer.addHandler({ onAdd: follow, onUpdate: (_, router) => follow(router) });
    });
  }

  /** Call it when all objects are synced. */
  catchUp(): void {
    this.#departing.catchUp();
  }

  close(): void {
    this.#departing.close();
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
   * counts as served only when it has, but a host that never gets routes does not hold it up for long. `problems` are reported
   * with it, or later if they change, and so are the policies that the routes were compiled with.
   */
  served(
    generation: number | undefined,
    { problems, policies }: { problems: readonly RouterProblem[]; policies: string },
    signal: AbortSignal,
  ): void {
    this.#problems = problems;
    this.#policies = policies;
    if (generation !== undefined && generation !== this.#served) this.#generationServed(generation, signal);
    if (this.#served !== undefined && !this.#areProblemsReported) void this.#reportProblems(signal);
  }

  #generationServed(generation: number, signal: AbortSignal): void {
    const { compiler, clock } = this.#options;
    for (const host of this.#pending) if (compiler.hasRoutes(host)) this.#pending.delete(host);
    if (this.#pending.size > 0) {
      this.#wait(signal);
      return;
    }
    this.#served = generation;
    this.#servedAt = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    void this.#report(signal);
  }

  get #areProblemsReported(): boolean {
    return (
      this.#reportedPolicies === this.#policies && isDeepStrictEqual(this.#reportedProblems, this.#problems)
    );
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
    const hasOtherDefaults = compiler.setDefaults(defaultAnnotations(router.spec.ingressDefaults));
    const isSame = isDeepStrictEqual(classNames, this.#router && classesOf(this.#router));
    if (!isSame) this.#setClasses(classNames);
    else if (hasOtherDefaults) this.#putIngresses();
    compiler.setClients(clientsOf(router));
    this.#router = router;
    this.#departing.record(router);
    compiler.setServedHosts(router.spec.hosts);
    touch('routes');
  }

  /** Classes can join a shared router while it runs. Before the informers are synced, their objects are put by the feed. */
  #setClasses(classNames: readonly string[]): void {
    const { compiler, informers } = this.#options;
    compiler.setClassNames(classNames);
    for (const claim of informers.for(HOST_CLAIMS).cache.list()) compiler.put('HostClaim', claim);
    this.#putIngresses();
  }

  #putIngresses(): void {
    const { compiler, informers } = this.#options;
    for (const ingress of informers.for(INGRESSES).cache.list()) compiler.put('Ingress', ingress);
  }

  /** Writes the generation at once. Never rejects. */
  async #report(signal: AbortSignal): Promise<void> {
    if (this.#reporting) return;
    this.#reporting = true;
    while (this.#reported !== this.#served && !signal.aborted)
      await this.#writeOrWait(() => this.#reportedProblems, signal);
    this.#reporting = false;
  }

  /**
   * Writes the problems after a while: a Secret that was not read yet is not a problem, and a tenant that changes a Secret again
   * and again must not cause a write each time. Never rejects.
   */
  async #reportProblems(signal: AbortSignal): Promise<void> {
    if (this.#isReportingProblems) return;
    this.#isReportingProblems = true;
    while (!this.#areProblemsReported && !signal.aborted) {
      await sleep(this.#options.clock, PROBLEMS_PACE_MS, signal).catch(() => {}); // Aborted: the loop ends.
      if (!this.#areProblemsReported && !signal.aborted)
        await this.#writeOrWait(() => this.#problems, signal);
    }
    this.#isReportingProblems = false;
  }

  /** After a failure, waits until it is worth another attempt. */
  async #writeOrWait(problems: () => readonly RouterProblem[], signal: AbortSignal): Promise<void> {
    const { clock, random, log, router } = this.#options;
    try {
      await this.#serial.run(() => this.#write(this.#served ?? 0, problems(), signal));
      this.#failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error, router }, 'cannot write the status of the L7Router; retrying');
      await sleep(clock, backoffDelay(this.#failures++, BACKOFF, random), signal).catch(() => {}); // Aborted: the loop ends.
    }
  }

  /** Server-side apply with the name of the pod as field manager: each agent owns only its entry of the list. */
  async #write(generation: number, problems: readonly RouterProblem[], signal: AbortSignal): Promise<void> {
    const { router, agentName } = this.#options;
    const policies = this.#policies;
    const entry = {
      ...{ name: agentName, appliedGeneration: generation, time: this.#servedAt },
      ...(problems.length > 0 && { problems }),
      ...(policies !== '' && { policies }),
    };
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
    this.#reportedProblems = problems;
    this.#reportedPolicies = policies;
  }
}
