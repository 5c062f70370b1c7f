import { overrideMetadataMap } from './metadata-map.ts';

export const overrideLabels = overrideMetadataMap('labels');
