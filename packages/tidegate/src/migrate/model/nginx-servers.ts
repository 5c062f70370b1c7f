import type { Ingress } from '@tidegate/kube';
import { NGINX_PREFIX } from '../../ingress/nginx-annotations/index.ts';

/** ingress-nginx reads ImplementationSpecific as Prefix. */
export type PathType = 'Exact' | 'Prefix';

/** A location of the configuration that ingress-nginx writes. */
export interface Location {
  readonly path: string;
  readonly type: PathType;
  readonly ingress: Ingress;
  /** The path as the Ingress has it. Undefined: ingress-nginx has added the path `/`. */
  readonly written: string | undefined;
  /** `namespace/service:port`. Undefined: the default backend of ingress-nginx, which answers with 404. */
  readonly backend: string | undefined;
  readonly isRegex: boolean;
}

/** A host of ingress-nginx. */
export interface Server {
  readonly host: string;
  /** In the order in which regular expressions are tried. */
  readonly locations: readonly Location[];
  /** The location that makes regular expressions of all paths. */
  readonly regexCause: Location | undefined;
  readonly hasTls: boolean;
  /** The oldest Ingress with the authorities of client certificates: its settings are those of the host. */
  readonly certificates: Ingress | undefined;
}

type Draft = { host: string; locations: Location[]; hasTls: boolean; certificates: Ingress | undefined };
type Backend = NonNullable<NonNullable<Ingress['spec']>['defaultBackend']>;

export const annotationOf = ({ metadata }: Ingress, name: string): string | undefined =>
  metadata.annotations?.[NGINX_PREFIX + name]?.trim();

export const isCanary = (ingress: Ingress): boolean => annotationOf(ingress, 'canary') === 'true';

/**
 * The hosts that ingress-nginx serves, by name; the empty name has the rules without a host. `ingresses`: the oldest first. It is the
 * order of `createServers` and `getBackendServers` in its controller: of equal paths, the oldest wins.
 */
export function nginxServers(ingresses: readonly Ingress[]): ReadonlyMap<string, Server> {
  const drafts = new Map<string, Draft>();
  const served = ingresses.filter((ingress) => !isCanary(ingress));
  for (const ingress of served) {
    const { rules = [], tls = [], defaultBackend } = ingress.spec ?? {};
    const fallback = backendOf(ingress, defaultBackend);
    const hosts = rules.length === 0 && fallback !== undefined ? [''] : rules.map(({ host = '' }) => host);
    for (const host of hosts.map((each) => each.toLowerCase())) {
      const locations = [rootOf(ingress, fallback)];
      const draft = drafts.get(host) ?? { host, locations, hasTls: false, certificates: undefined };
      draft.hasTls ||= tls.length > 0;
      if ((annotationOf(ingress, 'auth-tls-secret') ?? '') !== '') draft.certificates ??= ingress;
      drafts.set(host, draft);
    }
  }
  for (const ingress of served) {
    for (const { host = '', http } of ingress.spec?.rules ?? []) {
      const draft = drafts.get(host.toLowerCase());
      for (const { path, pathType, backend } of http?.paths ?? [])
        if (draft !== undefined && backend.service !== undefined)
          addLocation(draft, locationOf(ingress, path || '/', pathType, backend));
    }
  }
  return new Map([...drafts].map(([host, draft]) => [host, serverOf(draft)]));
}

function backendOf({ metadata }: Ingress, backend: Backend | undefined): string | undefined {
  const { name, port } = backend?.service ?? {};
  return name === undefined ? undefined : `${metadata.namespace}/${name}:${port?.name ?? port?.number}`;
}

/** The path `/` that every host has, with the annotations of the oldest Ingress. */
const rootOf = (ingress: Ingress, backend: string | undefined): Location => ({
  path: '/',
  type: 'Prefix',
  ingress,
  written: undefined,
  backend,
  isRegex: needsRegex(ingress, '/'),
});

const locationOf = (
  ingress: Ingress,
  path: string,
  type: string | undefined,
  backend: Backend,
): Location => ({
  path,
  type: type === 'Exact' ? 'Exact' : 'Prefix',
  ingress,
  written: path,
  backend: backendOf(ingress, backend),
  isRegex: needsRegex(ingress, path),
});

/** A path that is the target of the rewrite is not rewritten. */
function needsRegex(ingress: Ingress, path: string): boolean {
  const target = annotationOf(ingress, 'rewrite-target') ?? '';
  return annotationOf(ingress, 'use-regex') === 'true' || (target !== '' && target !== path);
}

function addLocation(draft: Draft, location: Location): void {
  const at = draft.locations.findIndex(({ path, type }) => path === location.path && type === location.type);
  if (at < 0) draft.locations.push(location);
  else if (draft.locations[at]?.written === undefined) draft.locations[at] = location;
}

function serverOf({ host, locations, hasTls, certificates }: Draft): Server {
  const all = withExact(locations).sort(
    (a, b) => b.path.length - a.path.length || (a.path < b.path ? 1 : Number(a.path !== b.path) * -1),
  );
  return { host, locations: all, regexCause: all.find(({ isRegex }) => isRegex), hasTls, certificates };
}

/** A Prefix without a regular expression becomes the path with a slash, and the exact path if no rule has it. */
function withExact(locations: readonly Location[]): Location[] {
  const exact = new Set(locations.filter(({ type }) => type === 'Exact').map(({ path }) => path));
  return locations.flatMap((location) => {
    const { path, type, isRegex } = location;
    if (path === '/' || type !== 'Prefix' || isRegex) return [location];
    const prefix = { ...location, path: path.endsWith('/') ? path : `${path}/` };
    return exact.has(path) ? [prefix] : [prefix, { ...location, type: 'Exact' as const }];
  });
}
