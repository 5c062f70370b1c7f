import { ApiStatusError, type KubeObject } from '@tidegate/kube';
import { RECREATE_ANNOTATION } from '../../api/index.ts';

/** Kinds whose objects run once. To change one means to run it again. */
const RUN_ONCE = new Set(['batch/v1 Job', 'v1 Pod']);

/**
 * Whether an object must be deleted and created again, because the API server does not change it in place. By default this
 * happens to Jobs and Pods only: others would stop for a while. The annotation of the manifest decides otherwise.
 */
export function mustBeRecreated({ apiVersion, kind, metadata }: KubeObject, error: unknown): boolean {
  if (!(error instanceof ApiStatusError) || error.reason !== 'Invalid') return false;
  if (!/immutable|may not change fields|updates to .* are forbidden/i.test(error.message)) return false;
  const chosen = metadata.annotations?.[RECREATE_ANNOTATION];
  return chosen === undefined ? RUN_ONCE.has(`${apiVersion} ${kind}`) : chosen === 'true';
}
