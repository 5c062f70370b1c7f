import { apiVersionOf } from '@tidegate/kube';
import type { ResourceDefinition, ServedVersion } from '../resources/types.ts';

/** A resource in one of its versions, as named by a request path. */
export interface Served {
  definition: ResourceDefinition;
  version: ServedVersion;
}

/** All resources that are currently served. Custom resources are added and removed while the server runs. */
export class Registry {
  readonly #byPath = new Map<string, Served>();
  readonly #definitions = new Map<string, ResourceDefinition>();
  readonly #byKind = new Map<string, ResourceDefinition>();
  readonly #byStorage = new Map<string, Served>();
  #generation = 0;

  /** Increases whenever the set of resources changes, so that derived documents can detect that they are stale. */
  get generation(): number {
    return this.#generation;
  }

  /** Adds a definition, or replaces the definition with the same group and plural. */
  set(definition: ResourceDefinition): void {
    this.delete(definition.group, definition.plural);
    this.#definitions.set(`${definition.group}/${definition.plural}`, definition);
    for (const version of definition.versions) {
      this.#byPath.set(pathKey(definition.group, version.name, definition.plural), { definition, version });
    }
    this.#byKind.set(`${definition.group}/${definition.kind}`, definition);
    const stored = definition.versions.find((v) => v.name === definition.storageVersion);
    // Two definitions can share a storage, for example both kinds of events. The owner of the storage is registered.
    if (stored !== undefined && definition.storageGroup === undefined) {
      this.#byStorage.set(definition.storage, { definition, version: stored });
    }
    this.#generation++;
  }

  delete(group: string, plural: string): void {
    const definition = this.#definitions.get(`${group}/${plural}`);
    if (definition === undefined) return;
    this.#definitions.delete(`${group}/${plural}`);
    for (const version of definition.versions) this.#byPath.delete(pathKey(group, version.name, plural));
    this.#byKind.delete(`${group}/${definition.kind}`);
    if (this.#byStorage.get(definition.storage)?.definition === definition) {
      this.#byStorage.delete(definition.storage);
    }
    this.#generation++;
  }

  /** The resource that a request path names. */
  lookup(group: string, version: string, plural: string): Served | undefined {
    return this.#byPath.get(pathKey(group, version, plural));
  }

  find(group: string, plural: string): ResourceDefinition | undefined {
    return this.#definitions.get(`${group}/${plural}`);
  }

  /** The resource of a storage name, in its storage version. */
  byStorage(storage: string): Served | undefined {
    return this.#byStorage.get(storage);
  }

  /** The resource of a kind, for ownerReferences. Any served version matches. */
  byKind(group: string, kind: string): ResourceDefinition | undefined {
    return this.#byKind.get(`${group}/${kind}`);
  }

  all(): ResourceDefinition[] {
    return [...this.#definitions.values()];
  }

  hasGroupVersion(group: string, version: string): boolean {
    return this.all().some((d) => d.group === group && d.versions.some((v) => v.name === version));
  }

  /** Groups in registration order, each with its versions in order of preference. */
  groups(): Map<string, string[]> {
    const groups = new Map<string, string[]>();
    for (const definition of this.#definitions.values()) {
      const versions = groups.get(definition.group) ?? [];
      for (const version of definition.versions) {
        if (!versions.includes(version.name)) versions.push(version.name);
      }
      groups.set(definition.group, versions);
    }
    for (const versions of groups.values()) versions.sort(byVersionPriority);
    return groups;
  }
}

export const servedApiVersion = (served: Served): string =>
  apiVersionOf(served.definition.group, served.version.name);

const pathKey = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;

/**
 * The version priority of Kubernetes: stable, beta, alpha; within each, higher numbers first; then other names in
 * order.
 */
export function byVersionPriority(a: string, b: string): number {
  const [x, y] = [rank(a), rank(b)];
  for (let i = 0; i < x.length; i++) {
    const difference = (y[i] ?? 0) - (x[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

function rank(version: string): number[] {
  const match = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version);
  if (match === null) return [0, 0, 0];
  const stability = match[2] === undefined ? 3 : match[2] === 'beta' ? 2 : 1;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}
