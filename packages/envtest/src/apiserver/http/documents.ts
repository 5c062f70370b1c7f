import type { Exchange, Representation } from '@tidegate/serving';
import { groupDiscoveryList } from '../discovery/aggregated.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from '../discovery/plain.ts';
import type { Registry } from '../served/registry.ts';

/** A document at a fixed path that is not a resource. */
export type Document = (request: DocumentRequest) => Promise<void>;

export interface DocumentRequest {
  path: string;
  query: URLSearchParams;
  representation: Representation;
  exchange: Exchange;
}

/** All documents by exact path, or by prefix if the path ends with a slash. */
export class Documents {
  readonly #exact = new Map<string, Document>();
  readonly #prefixes: [string, Document][] = [];

  set(path: string, document: Document): this {
    if (path.endsWith('/') && path !== '/') this.#prefixes.push([path, document]);
    else this.#exact.set(path, document);
    return this;
  }

  find(path: string): Document | undefined {
    const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
    return this.#exact.get(trimmed) ?? this.#prefixes.find(([prefix]) => path.startsWith(prefix))?.[1];
  }

  paths(): string[] {
    return [...this.#exact.keys()].filter((p) => p !== '/').sort();
  }
}

/** `/api`, `/apis` and the discovery documents below them. */
export function addDiscovery(documents: Documents, registry: Registry, address: () => string): void {
  const root =
    (core: boolean, plain: () => unknown): Document =>
    async ({ representation, exchange }) => {
      if (representation.as !== 'APIGroupDiscoveryList') return exchange.object(200, plain());
      const version = representation.version ?? 'v2';
      const body = Buffer.from(`${JSON.stringify(groupDiscoveryList(registry, core, version))}\n`);
      const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
      return exchange.bytes(200, type, [body]);
    };
  documents.set(
    '/api',
    root(true, () => apiVersions(address())),
  );
  documents.set(
    '/apis',
    root(false, () => apiGroupList(registry)),
  );
  const below: Document = async ({ path, exchange }) => {
    const [first, second = '', third] = path.split('/').filter((s) => s !== '');
    const found =
      first === 'api'
        ? apiResourceList(registry, '', second)
        : third === undefined
          ? apiGroup(registry, second)
          : apiResourceList(registry, second, third);
    return found === undefined ? exchange.text(404, '404 page not found\n') : exchange.object(200, found);
  };
  documents.set('/api/', below).set('/apis/', below);
}

/** `/healthz`, `/livez` and `/readyz`: all checks together, each check at its own path, and details with `?verbose`. */
export function addHealth(documents: Documents, checks: ReadonlyMap<string, () => boolean>): void {
  for (const path of ['/healthz', '/livez', '/readyz']) {
    documents.set(path, ({ query, exchange }) => {
      const excluded = new Set(query.getAll('exclude'));
      const failed = [...checks].filter(([name, check]) => !excluded.has(name) && !check());
      if (failed.length === 0 && !query.has('verbose')) return exchange.text(200, 'ok');
      const lines = [...checks].map(([name, check]) => {
        if (excluded.has(name)) return `[+]${name} excluded: ok`;
        return check() ? `[+]${name} ok` : `[-]${name} failed: reason withheld`;
      });
      const summary = `${path.slice(1)} check ${failed.length === 0 ? 'passed' : 'failed'}`;
      return exchange.text(failed.length === 0 ? 200 : 500, [...lines, summary, ''].join('\n'));
    });
    for (const [name, check] of checks) {
      documents.set(`${path}/${name}`, ({ exchange }) =>
        check() ? exchange.text(200, 'ok') : exchange.text(500, `internal server error: ${name} failed\n`),
      );
    }
  }
}
