import {
  aborted,
  type Clock,
  Informers,
  type KubeObject,
  orAborted,
  type Random,
  type Secret,
  sleep,
  splitKey,
} from '@tidegate/kube';
import { HOST_CLAIMS } from '../api/index.ts';
import type { Listening } from '../dataplane/driver.ts';
import { Compiler } from '../ingress/compile/index.ts';
import { endpointSlices } from '../ingress/endpoint-slices.ts';
import type { Certificate, Changes } from '../ingress/model.ts';
import { PoolNodes } from '../ingress/pool-nodes.ts';
import { ExternalNames } from './external-names.ts';
import { feed } from './feed.ts';
import type { RouterOptions } from './options.ts';
import { OwnL7Router } from './own-l7-router.ts';
import { Programmer } from './programmer.ts';
import type { Resolve } from './resolve.ts';
import { SecretWatches } from './secret-watches.ts';
import type { Snapshot } from './snapshot.ts';

type AgentOptions = RouterOptions & { clock: Clock; random: Random; resolve: Resolve; snapshot: Snapshot };

/**
 * How long the first routes wait for their Secrets and DNS names, so that they are served completely from the start.
 */
const DEPENDENCIES_TIMEOUT_MS = 2_000;

/** Connects the parts of the loop from API objects to the data plane; see `index.ts`. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #compiler: Compiler;
  readonly #informers: Informers;
  readonly #names: ExternalNames;
  readonly #programmer: Programmer;
  readonly #secrets: SecretWatches;
  readonly #ownRouter: OwnL7Router | undefined;
  readonly #nodes: PoolNodes | undefined;
  readonly #stop = new AbortController();
  /** The Secrets of certificates in the stored table. They replace the real Secrets until those are synced. */
  readonly #remembered = new Set<string>();
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
    this.#informers = new Informers(client, { transform: withoutManagedFields, clock, random, log });
    this.#names = new ExternalNames({ resolve, onChange: () => touch('endpoints'), clock, log });
    this.#secrets = new SecretWatches({
      client,
      onSecret: (key, secret) => this.#onSecret(key, secret),
      clock,
      random,
      log,
    });
    const compiler = this.#compiler;
    const informers = this.#informers;
    if (router !== undefined)
      this.#ownRouter = new OwnL7Router({
        client,
        informers,
        compiler,
        router,
        agentName,
        touch,
        clock,
        random,
        log,
      });
    if (pool !== undefined) this.#nodes = new PoolNodes(informers, pool);
    this.#programmer = new Programmer({
      compiler,
      driver,
      names: this.#names,
      onSecrets: (changes) => this.#onSecrets(changes),
      // The generation of the L7Router whose hosts are about to be compiled. It is reported once they are served.
      checkpoint: () => {
        const generation = this.#ownRouter?.generation;
        return () => this.#ownRouter?.served(generation, this.#stop.signal);
      },
      onServed: (delta) => {
        this.#isServing = true;
        snapshot.note(delta);
      },
      clock,
      random,
      log,
      metrics,
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
    for (const certificate of before?.certificates.set ?? []) this.#remember(certificate);
    return this.#programmer.listen(before);
  }

  /** Keeps the data plane up to date until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const following = this.#informers.run(signal);
    try {
      // Nothing is applied before everything is synced: a table from a part of the objects would drop routes.
      await orAborted(this.#synced(signal), signal);
      this.#programmer.prepare();
      this.#forgetUnused();
      const { clock } = this.#options;
      const needed = Promise.all([this.#secrets.answered(), this.#names.answered()]);
      await Promise.race([needed, sleep(clock, DEPENDENCIES_TIMEOUT_MS, signal)]);
      await this.#programmer.start();
      await aborted(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#stop.abort();
      await this.#programmer.end();
      this.#names.close();
      await this.#secrets.close();
      await following;
    }
  }

  /** Resolves when all informers are synced, and the L7Router exists. */
  async #synced(signal: AbortSignal): Promise<void> {
    const { client, clock, random, log } = this.#options;
    const slices = await endpointSlices({ client, clock, random, log }, signal);
    // A cluster without a manager may not have the kind.
    const claims = this.#ownRouter !== undefined || (await client.discovery.serves(HOST_CLAIMS));
    await Promise.all([
      feed({
        informers: this.#informers,
        compiler: this.#compiler,
        slices,
        nodes: this.#nodes,
        claims,
        touch: (what) => this.#programmer.touch(what),
      }),
      this.#ownRouter?.known,
      this.#nodes?.synced,
    ]);
  }

  #onSecrets({ set, remove }: Changes<string, string>): void {
    for (const key of set) this.#secrets.follow(key);
    for (const key of remove) {
      this.#secrets.unfollow(key);
      this.#compiler.remove('Secret', key);
    }
  }

  #onSecret(key: string, secret: Secret | undefined): void {
    if (secret === undefined) this.#compiler.remove('Secret', key);
    else this.#compiler.put('Secret', secret);
    this.#programmer.touch('routes');
  }

  /** Lets the compiler use a certificate of the stored table until its Secret is synced. */
  #remember({ secret: key, certificate, key: privateKey }: Certificate): void {
    if (this.#remembered.has(key) || certificate === '') return;
    this.#remembered.add(key);
    const { namespace, name } = splitKey(key);
    const encode = (text: string): string => Buffer.from(text).toString('base64');
    this.#compiler.put('Secret', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name },
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': encode(certificate), 'tls.key': encode(privateKey) },
    });
  }

  /** Drops remembered Secrets that no Ingress refers to any more. */
  #forgetUnused(): void {
    for (const key of this.#remembered) if (!this.#secrets.follows(key)) this.#compiler.remove('Secret', key);
    this.#remembered.clear();
  }
}

/** managedFields are often half of an object, and the router does not use them: dropping them saves memory. */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
