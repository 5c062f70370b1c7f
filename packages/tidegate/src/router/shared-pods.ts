import { setMaxListeners } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory, makeChosenDirectory, makeDirectory } from '@tidegate/disk';
import { aborted, type Informers, orAborted, Serial, sleep, systemClock } from '@tidegate/kube';
import { HealthServer } from '@tidegate/serving';
import { L7_ROUTERS, type L7Router, SHARED_PODS_LABEL } from '../api/index.ts';
import type { SectionedDriver } from '../dataplane/sections.ts';
import { PoolNodes } from '../ingress/pool-nodes.ts';
import { routerInformers, type SharedParts } from './agent.ts';
import { LeftRouters } from './left-routers.ts';
import type { AgentSettings, RouterOptions } from './options.ts';
import { resolveByDns } from './resolve.ts';
import {
  directoryOf,
  hasLeft,
  nameOfDirectory,
  Section,
  type SectionName,
  sectionNameOf,
} from './section.ts';

const RETRY_MS = 5_000;

export interface SharedPodsOptions
  extends Omit<RouterOptions, 'driver' | 'classNames' | 'router' | 'onListening'> {
  /** The data plane, not started yet. */
  driver: SectionedDriver;
  /** The name that the L7Routers have in `spec.workload.sharedPods`. */
  sharedPods: string;
  onListening?: (ports: { admin: number }) => void;
}

/**
 * Runs all routers that share the pods of this name, until the signal is aborted and all requests have ended. A router that
 * joins or leaves starts or ends a section, and changes nothing for the others: they share the process, the data plane
 * and the watches, and nothing else.
 */
export async function runSharedPods(options: SharedPodsOptions): Promise<void> {
  const { stateDirectory, driver } = options;
  makeChosenDirectory(stateDirectory, '--state');
  const unlock = await lockDirectory(stateDirectory);
  try {
    const pods = new SharedPods(options);
    try {
      await pods.restore();
      await driver.start();
      await serve(options, pods);
    } finally {
      await driver.close();
      await pods.close();
    }
  } finally {
    await unlock();
  }
}

async function serve(options: SharedPodsOptions, pods: SharedPods): Promise<void> {
  const { driver, metrics, signal, log, noticeMs, drainMs, clock = systemClock } = options;
  const admin = await HealthServer.listen({
    ...options.admin,
    reasons: () => (signal.aborted ? ['the router is shutting down'] : pods.reasons()),
    warnings: () => pods.warnings(),
    metrics: async () => `${await metrics.scrape()}${driver.health().ready ? await driver.metrics() : ''}`,
    log,
  });
  const caches = new AbortController();
  setMaxListeners(0, caches.signal);
  const running = pods.run(caches.signal);
  try {
    options.onListening?.({ admin: admin.port });
    await Promise.race([running, aborted(signal)]);
    await sleep(clock, noticeMs);
    await driver.drain(drainMs);
  } finally {
    caches.abort();
    await running;
    await admin.close();
  }
}

class SharedPods {
  readonly #options: SharedPodsOptions;
  readonly #settings: AgentSettings;
  readonly #directory: string;
  readonly #informers: Informers;
  readonly #shared: SharedParts;
  /** By the name of the router. */
  readonly #sections = new Map<string, Section>();
  /** Sections of routers that have left, and that could not be removed yet. */
  readonly #leaving = new Set<Section>();
  /** Sections start and end one after the other. */
  readonly #serial = new Serial();
  #left: LeftRouters | undefined;
  #isFollowing = false;
  /** The sections of the last run, or those of all L7Routers that exist, have been started. */
  #hasSections = false;
  /** Once ready, the pod stays ready: a router that joins must not take the others out of service. */
  #wasReady = false;

  constructor(options: SharedPodsOptions) {
    const { clock = systemClock, random = Math.random, resolve = resolveByDns, pool } = options;
    const { client, agentName, log, metrics, sharedPods } = options;
    this.#options = options;
    this.#settings = { client, pool, agentName, log, metrics, clock, random, resolve };
    this.#directory = join(options.stateDirectory, 'sections');
    this.#informers = routerInformers(this.#settings);
    this.#shared = {
      informers: this.#informers,
      nodes: pool === undefined ? undefined : new PoolNodes(this.#informers, pool),
      select: { labelSelector: `${SHARED_PODS_LABEL}=${sharedPods}` },
    };
  }

  /**
   * Loads the sections of the last run, without those that had left. They are served until the L7Routers are known, also
   * without the API server. A section that cannot be loaded, or that had no routes yet, does not keep the others from being
   * served.
   */
  async restore(): Promise<void> {
    makeDirectory(this.#directory);
    const stored = existsSync(this.#directory) ? readdirSync(this.#directory) : [];
    for (const directory of stored) {
      const name = nameOfDirectory(directory);
      if (name === undefined) continue;
      if (hasLeft(join(this.#directory, directory))) {
        rmSync(join(this.#directory, directory), { recursive: true, force: true });
        continue;
      }
      await this.#add(name).catch((error: unknown) => {
        const { log } = this.#options;
        log.error(
          { err: error, router: name.router },
          'cannot load a section of the last run; serving the others',
        );
      });
    }
    this.#hasSections = this.#sections.size > 0;
    this.#wasReady = [...this.#sections.values()].some((section) => section.reasons().length === 0);
  }

  reasons(): string[] {
    const { reasons } = this.#options.driver.health();
    if (this.#wasReady) return reasons;
    const sections = [...this.#sections.values()];
    const waiting = !this.#hasSections
      ? ['waiting for the first list of L7Routers']
      : sections.length === 0
        ? [`no L7Router has the label ${this.#shared.select.labelSelector}`]
        : sections.flatMap((section) => section.reasons());
    this.#wasReady = reasons.length + waiting.length === 0;
    return [...reasons, ...waiting];
  }

  warnings(): string[] {
    const { warnings = [] } = this.#options.driver.health();
    return [...warnings, ...[...this.#sections.values()].flatMap((section) => section.warnings())];
  }

  async run(signal: AbortSignal): Promise<void> {
    const following = this.#informers.run(signal);
    this.#isFollowing = true;
    for (const section of this.#sections.values()) section.follow();
    const routers = this.#informers.for(L7_ROUTERS, this.#shared.select);
    try {
      await orAborted(routers.synced, signal);
      const put = (router: L7Router): void => this.#put(router, signal);
      const known = new Set(routers.cache.list().map(({ metadata }) => `${metadata.name}`));
      const left = this.#leftRouters(signal);
      for (const [name, section] of this.#sections) if (!known.has(name)) left.add(section.name, signal);
      routers.addHandler({
        onAdd: put,
        onUpdate: (_, router) => put(router),
        onDelete: ({ metadata }) => {
          const section = this.#sections.get(`${metadata.name}`);
          section?.noteLeft(true);
          if (section !== undefined) left.add(section.name, signal);
        },
      });
      await this.#serial.idle();
      this.#hasSections = true;
      await aborted(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    await this.#serial.idle();
    for (const section of this.#sections.values()) await section.stop();
    this.#sections.clear();
    await following;
  }

  /** Ends what `run` has not ended, because it was never called. */
  async close(): Promise<void> {
    for (const section of this.#sections.values()) await section.stop();
  }

  #put(router: L7Router, signal: AbortSignal): void {
    const name = sectionNameOf(router);
    const running = this.#sections.get(`${router.metadata.name}`);
    if (name === undefined) return;
    if (running !== undefined && directoryOf(running.name) === directoryOf(name)) {
      // It may have left and returned.
      this.#left?.returned(name.router);
      running.noteLeft(false);
      return;
    }
    this.#change(name.router, name, signal);
  }

  /** Starts the section, or ends that of the router if there is none any more. */
  #change(router: string, wanted: SectionName | undefined, signal: AbortSignal): void {
    const { log } = this.#options;
    this.#serial
      .run(async () => {
        if (signal.aborted) return;
        const running = this.#sections.get(router);
        if (
          running !== undefined &&
          wanted !== undefined &&
          directoryOf(running.name) === directoryOf(wanted)
        )
          return;
        // Another router can have the number of one that has just left.
        const left = [...this.#sections.values()].filter(({ name }) => name.number === wanted?.number);
        const held = left.find(({ name }) => name.router !== router && this.#left?.isHeld(name.router));
        if (held !== undefined) {
          log.info(
            { router, section: wanted?.number, heldBy: held.name.router },
            'the router waits for its section: the Service of a router that has left these pods can lead to it',
          );
          return;
        }
        for (const section of [...(running === undefined ? [] : [running]), ...left]) {
          this.#sections.delete(section.name.router);
          this.#leaving.add(section);
        }
        for (const section of this.#leaving) {
          await section.remove();
          this.#leaving.delete(section);
        }
        if (wanted !== undefined) await this.#add(wanted);
      })
      .catch((error: unknown) => {
        log.error({ err: error, router }, 'cannot start or end a section of the shared pods; retrying');
        this.#lookAfter(RETRY_MS, router, signal);
      });
  }

  /** Compares the section with the L7Router as it is after some time. */
  #lookAfter(ms: number, router: string, signal: AbortSignal): void {
    sleep(this.#settings.clock, ms, signal).then(
      () => this.#look(router, signal),
      () => {}, // Aborted: the pods end.
    );
  }

  #look(router: string, signal: AbortSignal): void {
    const found = this.#informers.for(L7_ROUTERS, this.#shared.select).cache.get(router);
    if (found === undefined) this.#change(router, undefined, signal);
    else this.#put(found, signal);
  }

  #leftRouters(signal: AbortSignal): LeftRouters {
    const { client, clock, log } = this.#settings;
    this.#left = new LeftRouters({
      ...{ clock, log },
      read: (name, until) => client.get(L7_ROUTERS, { name }, { signal: until }),
      onEnded: ({ router }) => this.#look(router, signal),
      onReleased: ({ number }) => {
        const { cache } = this.#informers.for(L7_ROUTERS, this.#shared.select);
        for (const each of cache.list()) if (sectionNameOf(each)?.number === number) this.#put(each, signal);
      },
    });
    return this.#left;
  }

  async #add(name: SectionName): Promise<void> {
    const section = await Section.listen({
      name,
      driver: this.#options.driver,
      directory: this.#directory,
      shared: this.#shared,
      settings: this.#settings,
    });
    this.#sections.set(name.router, section);
    if (this.#isFollowing) section.follow();
  }
}
