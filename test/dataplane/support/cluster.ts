import { isIP } from 'node:net';
import { Compiler, type Inputs } from '../../../packages/tidegate/src/ingress/compile/index.ts';
import type { Delta } from '../../../packages/tidegate/src/ingress/model.ts';
import { CLASS, service, slice } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import type { Backend } from './backend.ts';
import { type MakeDriver, World } from './world.ts';

/** A data plane that is fed by the compiler of one class. */
export class Cluster {
  readonly world: World;
  /** By DNS name: the address, as routers resolve it. Names that are not here have no address. */
  readonly names = new Map<string, string>();
  readonly #compiler = new Compiler({ classNames: [CLASS], now: Date.now });

  static async start(make: MakeDriver): Promise<Cluster> {
    return new Cluster(await World.start(make));
  }

  private constructor(world: World) {
    this.world = world;
  }

  put<K extends keyof Inputs>(kind: K, object: Inputs[K]): this {
    this.#compiler.put(kind, object);
    return this;
  }

  remove(kind: keyof Inputs, key: string): this {
    this.#compiler.remove(kind, key);
    return this;
  }

  /** Creates a Service with the port `http` (80) and starts its pods. */
  async service(name: string, { namespace = 'shop', pods = 1 } = {}): Promise<Backend[]> {
    const backends: Backend[] = [];
    for (let i = 0; i < pods; i++)
      backends.push(await this.world.backend(pods === 1 ? name : `${name}-${i}`));
    this.put('Service', service(name, ['http:80'], namespace));
    for (const { name: pod, port } of backends) {
      const ports = { http: port };
      this.put('EndpointSlice', slice(name, { '127.0.0.1': {} }, { name: `slice-${pod}`, namespace, ports }));
    }
    return backends;
  }

  /** Compiles and applies all changes. Returns the keys of the Ingresses whose outcome has changed. */
  async serve(): Promise<{ outcomes: string[] }> {
    const { delta, outcomes } = this.#compiler.flush();
    if (delta !== undefined) await this.world.driver.apply(this.#resolved(delta));
    return { outcomes: outcomes.set.map(({ ingress }) => ingress) };
  }

  /** What the router does with DNS names; see packages/tidegate/src/router/external-names.ts. */
  #resolved(delta: Delta): Delta {
    const set = delta.upstreams.set.map((upstream) => ({
      ...upstream,
      endpoints: upstream.endpoints.flatMap(({ address, port }) => {
        const known = isIP(address) === 0 ? this.names.get(address) : address;
        return known === undefined ? [] : [{ address: known, port }];
      }),
    }));
    return { ...delta, upstreams: { ...delta.upstreams, set } };
  }

  stop(): Promise<void> {
    return this.world.stop();
  }
}
