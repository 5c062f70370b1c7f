import { isDeepStrictEqual } from 'node:util';
import { compareResourceVersions, type KubeObject } from '@tidegate/kube';
import type { NodeGroup, NodePool, PoolKind } from '../../api/index.ts';
import { scopeMetadata } from '../../scope/index.ts';
import type { View, ViewChange, ViewItem } from '../views/index.ts';
import type { DependencyListener, FilterContext } from './filter.ts';
import { PoolMembership, type PoolState } from './membership.ts';

export interface HubContextOptions {
  nodeName: string;
  hub: FilterContext['hub'];
  services: View;
  /** Empty if the cluster does not have the kind. Then no node is in a pool of that kind. */
  nodePools: View;
  nodeGroups: View;
}

/**
 * What filters use besides the object, from views of the hub. It does not wait for the views: requests that need filters
 * await them first.
 */
export class HubContext implements FilterContext {
  readonly nodeName: string;
  readonly hub: FilterContext['hub'];
  readonly membership = new PoolMembership();
  readonly #services: View;
  /** Parsed on first use, and freed with the item. */
  readonly #parsed = new WeakMap<ViewItem, KubeObject>();
  readonly #listeners = new Set<DependencyListener>();
  readonly #unsubscribe: (() => void)[];

  constructor({ nodeName, hub, services, nodePools, nodeGroups }: HubContextOptions) {
    this.nodeName = nodeName;
    this.hub = hub;
    this.#services = services;
    this.#unsubscribe = [
      services.subscribe((changes) => this.#notify(changes, (change) => this.#changedService(change))),
      this.#follow('NodePool', nodePools),
      this.#follow('NodeGroup', nodeGroups),
    ];
  }

  service(key: string): KubeObject | undefined {
    return this.#parse(this.#services.get(key));
  }

  /** The listener is called after the context has all of a change, so that filters see the new state. */
  subscribe(listener: DependencyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#listeners.clear();
  }

  #follow(kind: PoolKind, view: View): () => void {
    for (const { key, ...item } of view.items()) this.membership.set(kind, key, stateOf(kind, item));
    return view.subscribe((changes) => this.#notify(changes, (change) => this.#changedNodes(kind, change)));
  }

  #changedNodes(kind: PoolKind, { type, item }: ViewChange): string[] {
    const state = type === 'delete' ? undefined : stateOf(kind, item);
    return this.membership.set(kind, item.key, state).map((node) => `node:${node}`);
  }

  /** Most updates of a Service change nothing that filters use, and must not cause filtering. */
  #changedService({ type, item, previous }: ViewChange): string[] {
    const before = this.#parse(previous);
    const after = type === 'delete' ? undefined : this.#parse(item);
    return isDeepStrictEqual(before, after) ? [] : [`service:${item.key}`];
  }

  #parse(item: ViewItem | undefined): KubeObject | undefined {
    if (item === undefined) return undefined;
    const known = this.#parsed.get(item);
    if (known !== undefined) return known;
    const service = scopeOnly(item);
    this.#parsed.set(item, service);
    return service;
  }

  /** Calls the listeners once for changes that arrived together, with the newest version that made a difference. */
  #notify(changes: readonly ViewChange[], dependenciesOf: (change: ViewChange) => string[]): void {
    const changed = new Set<string>();
    let cause: string | undefined;
    for (const change of changes) {
      const dependencies = dependenciesOf(change);
      if (dependencies.length === 0) continue;
      for (const dependency of dependencies) changed.add(dependency);
      cause = newer(cause, change.item.resourceVersion);
    }
    if (cause === undefined) return;
    for (const listener of [...this.#listeners]) listener(changed, cause);
  }
}

/** Most Services have no metadata that decides their scope. They share this object, to save memory. */
const PLAIN_SERVICE: KubeObject = { apiVersion: 'v1', kind: 'Service', metadata: {} };

/** Keeps only the labels and annotations of a Service that decide its scope. */
function scopeOnly({ bytes }: { bytes: Buffer }): KubeObject {
  const { metadata } = JSON.parse(bytes.toString()) as KubeObject;
  const deciding = scopeMetadata(metadata);
  return Object.keys(deciding).length === 0 ? PLAIN_SERVICE : { ...PLAIN_SERVICE, metadata: deciding };
}

function stateOf(kind: PoolKind, { resourceVersion, bytes }: Omit<ViewItem, 'key'>): PoolState {
  const pool = JSON.parse(bytes.toString()) as NodePool & NodeGroup;
  return { resourceVersion, nodes: (kind === 'NodePool' ? pool.status?.nodes : nodesOfGroup(pool)) ?? [] };
}

/** Tidegate writes `containedNodes` into NodeGroups, KubeEdge's own controller only `nodeStatuses`. */
const nodesOfGroup = ({ status }: NodeGroup): string[] | undefined =>
  status?.containedNodes ??
  status?.nodeStatuses
    ?.filter(({ selectionStatus }) => selectionStatus === 'Succeeded')
    .map(({ nodeName }) => nodeName);

const newer = (a: string | undefined, b: string): string =>
  a !== undefined && (compareResourceVersions(a, b) ?? -1) > 0 ? a : b;
