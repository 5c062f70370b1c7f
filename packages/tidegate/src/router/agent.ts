import {
  aborted,
  type Clock,
  CONFIG_MAPS,
  type ConfigMap,
  Informers,
  type KubeObject,
  keyOf,
  orAborted,
  type Random,
  type Resource,
  SECRETS,
  type Secret,
  sleep,
} from '@tidegate/kube';
import { HOST_CLAIMS, ROUTE_POLICIES } from '../api/index.ts';
import type { Listening } from '../dataplane/driver.ts';
import { Compiler, type Flushed } from '../ingress/compile/index.ts';
import { endpointSlices } from '../ingress/endpoint-slices.ts';
import { PoolNodes } from '../ingress/pool-nodes.ts';
import { AgentProblems } from './agent-problems.ts';
import { ExternalNames } from './external-names.ts';
import { feed } from './feed.ts';
import { NamedWatches } from './named-watches.ts';
import type { RouterOptions } from './options.ts';
import { OwnL7Router } from './own-l7-router.ts';
import { Programmer } from './programmer.ts';
import type { Resolve } from './resolve.ts';
import { SecretReads } from './secret-reads.ts';
import type { SecretSource } from './secret-source.ts';
import { type InformerSource, SectionInformers } from './section-informers.ts';
import type { Snapshot } from './snapshot.ts';
import { storedConfigMaps, storedSecrets } from './stored-secrets.ts';

type AgentOptions = Omit<RouterOptions, 'stateDirectory' | 'admin' | 'noticeMs' | 'drainMs'> & {
  clock: Clock;
  random: Random;
  resolve: Resolve;
  snapshot: Snapshot;
  shared?: SharedParts;
};

/** What agents of one process share. */
export interface SharedParts {
  /** They run already. */
  readonly informers: Informers;
  readonly nodes: PoolNodes | undefined;
  /** Selects the L7Routers of all agents. */
  readonly select: { labelSelector: string };
}

/**
 * How long the first routes wait for their Secrets and DNS names, so that they are served completely from the start.
 */
const DEPENDENCIES_TIMEOUT_MS = 2_000;

/** Connects the parts of the loop from API objects to the data plane; see `index.ts`. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #compiler: Compiler;
  /** Undefined if others run the informers. */
  readonly #own: Informers | undefined;
  readonly #informers: InformerSource & { close?(): void };
  readonly #names: ExternalNames;
  readonly #programmer: Programmer;
  readonly #secrets: SecretSource;
  readonly #configMaps: NamedWatches<ConfigMap>;
  readonly #ownRouter: OwnL7Router | undefined;
  readonly #nodes: PoolNodes | undefined;
  readonly #stop = new AbortController();
  /** The Secrets of certificates and users in the stored table. They replace the real Secrets until those are synced. */
  readonly #remembered = new Set<string>();
  /** The same for ConfigMaps. */
  readonly #rememberedConfigMaps = new Set<string>();
  /** A table was applied in this run, stored or compiled. */
  #isServing = false;

  constructor(options: AgentOptions) {
    const { client, classNames, router, pool, agentName, driver, snapshot } = options;
    const { clock, random, resolve, log, metrics } = options;
    const touch = (what: 'endpoints' | 'routes'): void => this.#programmer.touch(what);
    this.#options = options;
    // Until the L7Router is synced, the router serves no hosts (other than the routes for all hosts).
    const hosts = router === undefined ? undefined : [];
    // A router with an L7Router belongs to a manager, which records claims.
    const claimsRequired = router !== undefined;
    this.#compiler = new Compiler({ classNames, hosts, claimsRequired, now: () => clock.now() });
    const { shared } = options;
    this.#own = shared === undefined ? routerInformers(options) : undefined;
    this.#informers = this.#own ?? new SectionInformers(shared!.informers);
    this.#names = new ExternalNames({ resolve, onChange: () => touch('endpoints'), clock, log });
    const onSecret = (key: string, secret: Secret | undefined): void => this.#onSecret(key, secret);
    const reads =
      router === undefined ? undefined : new SecretReads({ client, onSecret, clock, random, log });
    const watching = { client, clock, random, log };
    this.#secrets = reads ?? new NamedWatches({ ...watching, resource: SECRETS, onObject: onSecret });
    this.#configMaps = new NamedWatches({
      ...watching,
      resource: CONFIG_MAPS,
      onObject: (key, configMap) => this.#onConfigMap(key, configMap),
    });
    const compiler = this.#compiler;
    const informers = this.#informers;
    const problems = new AgentProblems(compiler);
    this.#nodes =
      pool === undefined || this.#own === undefined ? shared?.nodes : new PoolNodes(this.#own, pool);
    this.#programmer = new Programmer({
      compiler,
      driver,
      names: this.#names,
      onWanted: (wanted) => this.#onWanted(wanted),
      onOutcomes: (changes) => problems.note(changes),
      // The generation of the L7Router whose hosts are about to be compiled. It is reported once they are served.
      checkpoint: () => {
        const generation = this.#ownRouter?.generation;
        const policies = compiler.policyDigest;
        return () => {
          const known = { problems: problems.list(driver.unserved?.() ?? []), policies };
          this.#ownRouter?.served(generation, known, this.#stop.signal);
        };
      },
      onServed: (delta) => {
        this.#isServing = true;
        snapshot.note(delta);
      },
      clock,
      random,
      log,
      metrics,
      router,
    });
    // After the programmer: if informers have synced already, the L7Router is followed at once.
    if (router !== undefined)
      this.#ownRouter = new OwnL7Router({
        client,
        informers,
        compiler,
        router,
        ...(shared && { select: shared.select }),
        agentName,
        touch,
        onSecretVersions: (versions) => reads?.update(versions),
        clock,
        random,
        log,
      });
  }

  /** Reasons why the router is not ready; empty if it is. */
  reasons(): string[] {
    if (this.#isServing) return [];
    const trouble = this.#programmer.trouble;
    if (trouble !== undefined) return [`cannot apply the routes: ${trouble}`];
    if (this.#ownRouter?.isKnown === false) return [`L7Router ${this.#options.router} not found`];
    return ['waiting for the first sync with the API server'];
  }

  /** Starts the data plane with the table of the last run. */
  async listen(): Promise<Listening> {
    const before = await this.#options.snapshot.load();
    for (const secret of before === undefined ? [] : storedSecrets(before)) this.#remember(secret);
    for (const configMap of before === undefined ? [] : storedConfigMaps(before)) {
      this.#rememberedConfigMaps.add(keyOf(configMap));
      this.#compiler.put('ConfigMap', configMap);
    }
    return this.#programmer.listen(before);
  }

  /** Keeps the data plane up to date until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const following = this.#own?.run(signal);
    try {
      // Nothing is applied before everything is synced: a table from a part of the objects would drop routes.
      await orAborted(this.#synced(signal), signal);
      this.#ownRouter?.catchUp();
      this.#programmer.prepare();
      this.#forgetUnused();
      const { clock } = this.#options;
      const needed = Promise.all([
        this.#secrets.answered(),
        this.#configMaps.answered(),
        this.#names.answered(),
      ]);
      await Promise.race([needed, sleep(clock, DEPENDENCIES_TIMEOUT_MS, signal)]);
      await this.#programmer.start();
      await aborted(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#stop.abort();
      await this.#programmer.end();
      this.#names.close();
      this.#ownRouter?.close();
      this.#informers.close?.();
      await this.#secrets.close();
      await this.#configMaps.close();
      await following;
    }
  }

  /** Resolves when all informers are synced, and the L7Router exists. */
  async #synced(signal: AbortSignal): Promise<void> {
    const { client, clock, random, log } = this.#options;
    const slices = await endpointSlices({ client, clock, random, log }, signal);
    // A cluster without a manager may not have the kinds.
    const has = async (kind: Resource): Promise<boolean> =>
      this.#ownRouter !== undefined || client.discovery.serves(kind);
    const claims = await has(HOST_CLAIMS);
    const policies = await has(ROUTE_POLICIES);
    await Promise.all([
      feed({
        informers: this.#informers,
        compiler: this.#compiler,
        slices,
        nodes: this.#nodes,
        claims,
        policies,
        touch: (what) => this.#programmer.touch(what),
        signal: this.#stop.signal,
      }),
      this.#ownRouter?.known,
      this.#nodes?.synced,
    ]);
  }

  #onWanted({ secrets, configMaps }: Pick<Flushed, 'secrets' | 'configMaps'>): void {
    for (const key of secrets.set) this.#secrets.follow(key);
    for (const key of secrets.remove) {
      this.#secrets.unfollow(key);
      this.#compiler.remove('Secret', key);
    }
    for (const key of configMaps.set) this.#configMaps.follow(key);
    for (const key of configMaps.remove) {
      this.#configMaps.unfollow(key);
      this.#compiler.remove('ConfigMap', key);
    }
  }

  #onConfigMap(key: string, configMap: ConfigMap | undefined): void {
    if (configMap === undefined) this.#compiler.remove('ConfigMap', key);
    else this.#compiler.put('ConfigMap', configMap);
    this.#programmer.touch('routes');
  }

  #onSecret(key: string, secret: Secret | undefined): void {
    if (secret === undefined) this.#compiler.remove('Secret', key);
    else this.#compiler.put('Secret', secret);
    this.#programmer.touch('routes');
  }

  /** Lets the compiler use a Secret of the stored table until it is synced. */
  #remember(secret: Secret): void {
    this.#remembered.add(keyOf(secret));
    this.#compiler.put('Secret', secret);
  }

  /** Drops remembered Secrets and ConfigMaps that no Ingress refers to any more. */
  #forgetUnused(): void {
    for (const key of this.#remembered) if (!this.#secrets.follows(key)) this.#compiler.remove('Secret', key);
    for (const key of this.#rememberedConfigMaps)
      if (!this.#configMaps.follows(key)) this.#compiler.remove('ConfigMap', key);
    this.#remembered.clear();
    this.#rememberedConfigMaps.clear();
  }
}

/** The informers of a router. */
export const routerInformers = ({
  client,
  clock,
  random,
  log,
}: Pick<AgentOptions, 'client' | 'clock' | 'random' | 'log'>): Informers =>
  new Informers(client, { transform: withoutManagedFields, clock, random, log });

/** managedFields are often half of an object, and the router does not use them: dropping them saves memory. */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
