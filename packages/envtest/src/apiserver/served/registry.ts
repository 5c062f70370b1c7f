import { apiVersionOf } from '@tidegate/kube';
import type { ResourceDefinition, ServedVersion } from '../resources/types.ts';

/** A resource at one of its versions: what a request path names. */
export interface Served {
  definition: ResourceDefinition;
  version: ServedVersion;
}

/** All resources that are served right now. Custom ones come and go while the server runs. */
export class Registry {
  readonly #byPath = new Map<string, Served>();
  readonly #definitions = new Map<string, ResourceDefinition>();
  readonly #byKind = new Map<string, ResourceDefinition>();
  readonly #byStorage = new Map<string, Served>();
  #generation = 0;

  /** Grows whenever the set of resources changes, so that derived documents know when they are stale. */
  get generation(): number {
    return this.#generation;
  }

  /** Adds a definition, or replaces the one of the same group and plural. */
  set(definition: ResourceDefinition): void {
    this.delete(definition.group, definition.plural);
    this.#definitions.set(`${definition.group}/${definition.plural}`, definition);
    for (const version of definition.versions) {
      this.#byPath.set(pathKey(definition.group, version.name, definition.plural), { definition, version });
    }
    this.#byKind.set(`${definition.group}/${definition.kind}`, definition);
    const stored = definition.versions.find((v) => v.name === definition.storageVersion);
    // Of two faces of one storage, the one that owns it counts.
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

  lookup(group: string, version: string, plural: string): Served | undefined {
    return this.#byPath.get(pathKey(group, version, plural));
  }

  find(group: string, plural: string): ResourceDefinition | undefined {
    return this.#definitions.get(`${group}/${plural}`);
  }

  /** The resource of a storage name, at the version in which it is stored. */
  byStorage(storage: string): Served | undefined {
    return this.#byStorage.get(storage);
  }

  /** The resource of a kind, as ownerReferences name it; any served version will do. */
  byKind(group: string, kind: string): ResourceDefinition | undefined {
    return this.#byKind.get(`${group}/${kind}`);
  }

  all(): ResourceDefinition[] {
    return [...this.#definitions.values()];
  }

  hasGroupVersion(group: string, version: string): boolean {
    return this.all().some((d) => d.group === group && d.versions.some((v) => v.name === version));
  }

  /** Groups in the order they were registered, each with its versions, preferred first. */
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

/** Kubernetes' order of versions: stable before beta before alpha, higher numbers first, then anything else by name. */
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
