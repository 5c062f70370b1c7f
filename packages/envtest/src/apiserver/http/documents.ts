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

/** One check of the health of the server. */
export interface HealthCheck {
  /** Why the check fails; undefined if it passes. Every client that can connect can read it. */
  failure(): string | undefined;
  /** Liveness does not depend on it, because a restart would not help. */
  readinessOnly?: boolean;
}

/**
 * `/healthz`, `/livez` and `/readyz`: all checks together, each check at its own path, and details with `?verbose`. A
 * check that counts only for readiness is shown by all of them.
 */
export function addHealth(documents: Documents, checks: ReadonlyMap<string, HealthCheck>): void {
  for (const path of ['/healthz', '/livez', '/readyz']) {
    const counts = (check: HealthCheck): boolean => path === '/readyz' || check.readinessOnly !== true;
    documents.set(path, ({ query, exchange }) => {
      const excluded = new Set(query.getAll('exclude'));
      const results = [...checks].map(([name, check]) => resultOf(name, check, excluded, counts(check)));
      const failed = results.some(({ fails }) => fails);
      if (!failed && !query.has('verbose')) return exchange.text(200, 'ok');
      const summary = `${path.slice(1)} check ${failed ? 'failed' : 'passed'}`;
      const lines = [...results.map(({ line }) => line), summary, ''];
      return exchange.text(failed ? 500 : 200, lines.join('\n'));
    });
    for (const [name, check] of checks) {
      documents.set(`${path}/${name}`, ({ exchange }) => {
        const failure = check.failure();
        return failure === undefined
          ? exchange.text(200, 'ok')
          : exchange.text(500, `internal server error: ${name} failed: ${failure}\n`);
      });
    }
  }
}

/** One line of the verbose output, in the format of kube-apiserver. */
function resultOf(
  name: string,
  check: HealthCheck,
  excluded: ReadonlySet<string>,
  counts: boolean,
): { line: string; fails: boolean } {
  if (excluded.has(name)) return { line: `[+]${name} excluded: ok`, fails: false };
  const failure = check.failure();
  if (failure === undefined) return { line: `[+]${name} ok`, fails: false };
  const scope = counts ? '' : ' (only readyz fails)';
  return { line: `[-]${name} failed: ${failure}${scope}`, fails: counts };
}
