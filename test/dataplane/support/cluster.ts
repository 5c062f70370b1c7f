import { Compiler, type Inputs } from '../../../packages/tidegate/src/ingress/compile/index.ts';
import { CLASS, service, slice } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import type { Backend } from './backend.ts';
import { type MakeDriver, World } from './world.ts';

/** A data plane that is fed by the compiler of one class. */
export class Cluster {
  readonly world: World;
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
    if (delta !== undefined) await this.world.driver.apply(delta);
    return { outcomes: outcomes.set.map(({ ingress }) => ingress) };
  }

  stop(): Promise<void> {
    return this.world.stop();
  }
}
