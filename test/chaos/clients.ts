/** The programs of a node, each with the informers of the real one. */
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  INGRESSES,
  Informer,
  type KubeClient,
  type KubeObject,
  type Logger,
  NODES,
  PODS,
  type Resource,
  SECRETS,
  SERVICES,
} from '@tidegate/kube';
import type { ChaosNode } from './node.ts';
import { secretOf, type Tokens } from './world.ts';

export type Program = 'kube-proxy' | 'coredns' | 'kubelet' | 'tidegate-router';

/** What a program watches: a resource and a selection of it. */
export interface Interest {
  resource: Resource;
  namespace?: string;
  fieldSelector?: string;
}

export const PROGRAMS: Record<Program, (node: string) => Interest[]> = {
  'kube-proxy': () => [{ resource: SERVICES }, { resource: ENDPOINT_SLICES }],
  coredns: () => [{ resource: SERVICES }, { resource: ENDPOINT_SLICES }],
  kubelet: (node) => [
    { resource: PODS, fieldSelector: `spec.nodeName=${node}` },
    { resource: SECRETS, namespace: 'default', fieldSelector: `metadata.name=${secretOf(node)}` },
    { resource: NODES, fieldSelector: `metadata.name=${node}` },
    { resource: SERVICES },
  ],
  'tidegate-router': () => [{ resource: INGRESSES }, { resource: ENDPOINT_SLICES }],
};

/** A Service that is limited to the node from the start: no program may ever see an endpoint of another node. */
export const PRIVATE_SERVICE = 'private';

/** A program on a node. `restart` discards its caches, as a crash does. */
export class ProgramClient {
  readonly node: ChaosNode;
  readonly program: Program;
  readonly #tokens: Tokens;
  readonly #log: Logger;
  #client: KubeClient | undefined;
  #stop = new AbortController();
  #running: Promise<void>[] = [];
  informers: { interest: Interest; informer: Informer }[] = [];
  /** Endpoints that it received but must never see. */
  readonly leaks: string[] = [];

  constructor(node: ChaosNode, program: Program, tokens: Tokens, log: Logger) {
    this.node = node;
    this.program = program;
    this.#tokens = tokens;
    this.#log = log.child({ node: node.name, program });
  }

  start(): void {
    const client = this.#connect();
    this.#client = client;
    this.#stop = new AbortController();
    this.informers = PROGRAMS[this.program](this.node.name).map((interest) => {
      const { resource, ...select } = interest;
      const informer = new Informer(client, resource, { ...select, log: this.#log });
      if (resource.resource === ENDPOINT_SLICES.resource && this.program !== 'coredns')
        this.#watchForLeaks(informer);
      return { interest, informer };
    });
    this.#running = this.informers.map(({ informer }) => informer.run(this.#stop.signal));
  }

  get client(): KubeClient {
    if (this.#client === undefined) throw new Error(`${this.program} is not running`);
    return this.#client;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
    await this.#client?.close();
    this.#client = undefined;
  }

  async restart(): Promise<void> {
    await this.stop();
    this.start();
  }

  #connect(): KubeClient {
    const { node, program } = this;
    if (program === 'kubelet') return node.asNode(program);
    return node.asBearer(this.#tokens[program === 'tidegate-router' ? 'router' : 'kubeProxy'], program);
  }

  /** Records every endpoint of another node that is received, also if a later event removes it. */
  #watchForLeaks(informer: Informer): void {
    const look = (object: KubeObject): void => {
      if (object.metadata.labels?.['kubernetes.io/service-name'] !== PRIVATE_SERVICE) return;
      for (const { nodeName } of (object as EndpointSlice).endpoints ?? []) {
        if (nodeName !== this.node.name)
          this.leaks.push(`${this.program} on ${this.node.name} received an endpoint of ${nodeName}`);
      }
    };
    informer.addHandler({ onAdd: look, onUpdate: (_, object) => look(object) });
  }
}
