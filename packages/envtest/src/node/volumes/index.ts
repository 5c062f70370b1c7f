/**
 * The files of a pod's volumes. They lie in `<pod>/volumes/<name>`; a container sees them through links below its
 * root. A ConfigMap that changes: its watch in `references/` -> the pods that hold it -> their contents are computed
 * anew -> where they differ, all files of the volume are replaced at once. Tokens are renewed in the same way, by time.
 */
export { PodVolumes } from './volumes.ts';
