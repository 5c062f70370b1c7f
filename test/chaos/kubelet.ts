/**
 * Writes like a kubelet, continuously, with or without a link: the status of its pods and its node, its Lease,
 * events.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiStatusError,
  type KubeObject,
  LEASES,
  type Lease,
  NODES,
  type Node,
  PODS,
  type Pod,
  type Resource,
} from '@tidegate/kube';
import type { Chance } from '../support/random.ts';
import type { ProgramClient } from './clients.ts';
import type { Ledger } from './ledger.ts';

const EVENTS: Resource = { group: '', version: 'v1', resource: 'events', namespaced: true };
const CONDITION = 'Chaos';
/** The object is gone, was replaced or was written in the meantime; the same happens without a hub. */
const EXPECTED_CODES = [404, 409, 422];

/** Each write contains an increasing number, so that the ledger can detect a lost write. */
export class Kubelet {
  readonly #program: ProgramClient;
  readonly #ledger: Ledger;
  readonly #chance: Chance;
  #number = 0;
  #stopped = true;
  #running: Promise<void> = Promise.resolve();
  /** Responses that a real kubelet could not handle. */
  readonly refusals: string[] = [];

  constructor(program: ProgramClient, ledger: Ledger, chance: Chance) {
    this.#program = program;
    this.#ledger = ledger;
    this.#chance = chance;
  }

  start(): void {
    this.#stopped = false;
    const writers = [
      () => this.#podStatus(),
      () => this.#nodeStatus(),
      () => this.#lease(),
      () => this.#event(),
    ];
    // Each at its own pace, as in a kubelet; the writes of one object are sequential.
    this.#running = Promise.all(writers.map((write) => this.#run(write, this.#chance.fork()))).then(() => {});
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(write: () => Promise<void>, chance: Chance): Promise<void> {
    while (!this.#stopped) {
      await sleep(20 + chance.integer(300));
      await this.#attempt(write);
    }
  }

  async #attempt(write: () => Promise<void>): Promise<void> {
    const { node } = this.#program;
    this.#number += 1;
    try {
      await write();
    } catch (error) {
      // Not a response of the hub: it was killed, or the client was restarted in the meantime.
      if (!(error instanceof ApiStatusError) || EXPECTED_CODES.includes(error.code)) return;
      if (error.message === 'the hub is shutting down') return;
      this.refusals.push(`${node.name}, link ${node.link.state}: ${error.code} ${error.message}`);
    }
  }

  async #podStatus(): Promise<void> {
    const pods = this.#known<Pod>(PODS);
    if (pods.length === 0) return;
    await this.#status(PODS, this.#chance.of(pods));
  }

  async #nodeStatus(): Promise<void> {
    const [node] = this.#known<Node>(NODES);
    if (node !== undefined) await this.#status(NODES, node);
  }

  async #status(resource: Resource, { metadata: { name = '', namespace, uid } }: KubeObject): Promise<void> {
    const number = this.#number;
    const conditions = [{ type: CONDITION, status: 'True', message: String(number) }];
    const target = { name, namespace };
    const patch = { metadata: { uid }, status: { conditions } };
    await this.#program.client.patch(resource, { ...target, subresource: 'status' }, 'strategic', patch);
    this.#ledger.acknowledged(resource, target, uid, number, numberOfStatus);
  }

  async #lease(): Promise<void> {
    const { client, node } = this.#program;
    const target = { name: node.name, namespace: 'kube-node-lease' };
    const lease = await client.get(LEASES, target);
    const now = Date.now();
    const renewTime = new Date(now).toISOString().replace('Z', '000Z');
    await client.update(LEASES, { ...lease, spec: { ...lease.spec, renewTime } });
    this.#ledger.acknowledged(LEASES, target, lease.metadata.uid, now, numberOfLease);
  }

  async #event(): Promise<void> {
    const { client, node } = this.#program;
    const target = { name: `${node.name}.${this.#number}`, namespace: 'default' };
    await client.create(EVENTS, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: target,
      involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
      reason: 'Chaos',
      message: 'something happened',
      source: { component: 'kubelet', host: node.name },
      type: 'Normal',
      count: 1,
    });
    this.#ledger.acknowledged(EVENTS, target, undefined, 1, () => 1);
  }

  #known<T extends KubeObject>({ resource }: Resource<T>): T[] {
    const found = this.#program.informers.find(({ interest }) => interest.resource.resource === resource);
    return (found?.informer.cache.list() ?? []) as T[];
  }
}

function numberOfStatus(object: KubeObject): number {
  const conditions = (object as Pod | Node).status?.conditions ?? [];
  return Number(conditions.find(({ type }) => type === CONDITION)?.message ?? 0);
}

const numberOfLease = (object: KubeObject): number => Date.parse(String((object as Lease).spec?.renewTime));
