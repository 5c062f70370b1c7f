import { overrideMetadataMap } from './metadata-map.ts';

/** Changes labels of the workload. */
export const overrideLabels = overrideMetadataMap('labels');
