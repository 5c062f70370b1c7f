import { overrideMetadataMap } from './metadata-map.ts';

/** Changes annotations of the workload. */
export const overrideAnnotations = overrideMetadataMap('annotations');
