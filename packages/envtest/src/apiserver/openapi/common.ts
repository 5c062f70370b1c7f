/** Helpers for the schemas of built-in and custom kinds. */
import { loadDescriptions } from '../schema/generated.ts';

export interface Gvk {
  group: string;
  version: string;
  kind: string;
}

type Json = Record<string, unknown>;

export const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** Descriptions that all kinds share and the generated descriptions omit. */
export const typeMetaDescription = (field: string): string =>
  loadDescriptions()[`${META}.DeleteOptions`]?.[field] ?? '';

export const gvkExtension = (gvk: Gvk): Json => ({
  'x-kubernetes-group-version-kind': [{ group: gvk.group, kind: gvk.kind, version: gvk.version }],
});
