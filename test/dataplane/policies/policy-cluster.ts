import {
  type IngressFields,
  ingress,
  slice,
} from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import { Backend } from '../support/backend.ts';
import { Cluster } from '../support/cluster.ts';
import type { MakeDriver } from '../support/world.ts';

const PREFIX = 'nginx.ingress.kubernetes.io/';

/** A data plane with the Service `web`, and Ingresses with annotations of ingress-nginx. */
export class PolicyCluster {
  readonly cluster: Cluster;
  #made = 0;
  readonly #backends: Backend[] = [];

  static async start(make: MakeDriver): Promise<PolicyCluster> {
    const cluster = await Cluster.start(make);
    await cluster.service('web');
    await cluster.service('other');
    return new PolicyCluster(cluster);
  }

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  get world() {
    return this.cluster.world;
  }

  /** Adds an Ingress with these paths. Annotations have no prefix. */
  async serve(
    rules: Record<string, string>,
    annotations: Record<string, string> = {},
    more: IngressFields = {},
  ): Promise<void> {
    const prefixed = Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [PREFIX + name, value]),
    );
    this.cluster.put('Ingress', ingress({ name: `i${this.#made++}`, rules, annotations: prefixed, ...more }));
    await this.cluster.serve();
  }

  /** Path and query that the backend got, or the status. */
  async seen(where: string): Promise<string | number> {
    const answer = await this.world.ask(where);
    return answer.status === 200 ? answer.echo.url : answer.status;
  }

  /** Status and location of a redirect. */
  async redirect(where: string): Promise<string> {
    const { status, headers } = await this.world.ask(where);
    return `${status} ${headers.location}`;
  }

  /** Starts a backend that `stop` ends. */
  async backend(name: string, options: Parameters<typeof Backend.start>[1] = {}): Promise<Backend> {
    const backend = await Backend.start(name, options);
    this.#backends.push(backend);
    return backend;
  }

  /** Makes a backend an endpoint of a Service. */
  endpoint(of: string, { name, port }: Backend): void {
    const options = { name: `${of}-${name}`, ports: { http: port } };
    this.cluster.put('EndpointSlice', slice(of, { '127.0.0.1': {} }, options));
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    for (const backend of this.#backends) await backend.stop();
  }
}
