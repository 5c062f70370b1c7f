import { ownField } from '@tidegate/kube';

type Json = Record<string, unknown>;

/** The paths of all group versions in `/api` and `/apis`, which are given in their unaggregated form. */
export function groupVersionPaths(api: unknown, apis: unknown): string[] {
  const core = strings(field(api, 'versions')).map((version) => `/api/${version}`);
  const named = list(field(apis, 'groups'))
    .flatMap((group) => list(field(group, 'versions')))
    .flatMap((version) => strings([field(version, 'groupVersion')]))
    .map((groupVersion) => `/apis/${groupVersion}`);
  return [...core, ...named];
}

/**
 * Returns the description of each group version in an aggregated document, by the path of its own document.
 * Empty if the document is not aggregated. Two equal descriptions mean that the group version has not
 * changed.
 */
export function aggregatedVersions(root: string, document: unknown): Map<string, string> {
  const found = new Map<string, string>();
  for (const group of list(field(document, 'items'))) {
    const name = field(field(group, 'metadata'), 'name');
    for (const version of list(field(group, 'versions'))) {
      // The core group has no name.
      const parts = [root, name, field(version, 'version')].filter(
        (part) => part !== undefined && part !== '',
      );
      found.set(parts.join('/'), JSON.stringify(version));
    }
  }
  return found;
}

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? ownField(value as Json, name) : undefined;
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const strings = (value: unknown): string[] => list(value).filter((s): s is string => typeof s === 'string');
