import { overrideMetadataMap } from './metadata-map.ts';

export const overrideAnnotations = overrideMetadataMap('annotations');
