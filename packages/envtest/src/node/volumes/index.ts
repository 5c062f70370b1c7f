/**
 * The files of a pod's volumes. They are in `<pod>/volumes/<name>`; a container sees them through symbolic links
 * below its root directory (`mounts.ts`).
 *
 * One changed ConfigMap: its watch in `references/` -> the pods that use it -> their contents are computed again
 * (`contents.ts`) -> where they differ, all files of the volume are replaced atomically (`atomic-directory.ts`).
 * Tokens are renewed the same way, triggered by a timer (`tokens.ts`).
 */
export { PodVolumes } from './volumes.ts';
