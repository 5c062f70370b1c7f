import { Compiler, type Inputs } from '../../../packages/tidegate/src/ingress/compile/index.ts';
import { CLASS, service, slice } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import type { Backend } from './backend.ts';
import { type MakeDriver, World } from './world.ts';

/** Objects in, requests answered: a data plane behind the compiler of one class. */
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

  /** A Service with a port `http` (80), and its Pods. */
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

  /** All that was put is served. Says of which Ingresses there was something to tell. */
  async serve(): Promise<{ told: string[] }> {
    const { delta, outcomes } = this.#compiler.flush();
    if (delta !== undefined) await this.world.driver.apply(delta);
    return { told: outcomes.set.map(({ ingress }) => ingress) };
  }

  stop(): Promise<void> {
    return this.world.stop();
  }
}
