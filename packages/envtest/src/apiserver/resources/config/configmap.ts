import { define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import type { ConfigMap } from './types.ts';
import { validateConfigMap, validateConfigMapUpdate } from './validate.ts';

const size = (map: Record<string, string> | undefined): number => Object.keys(map ?? {}).length;

export const configmaps = define<ConfigMap>({
  kind: 'ConfigMap',
  plural: 'configmaps',
  shortNames: ['cm'],
  table: [
    nameColumn,
    { name: 'Data', field: 'data', cell: ({ data, binaryData }) => size(data) + size(binaryData) },
    ageColumn,
  ],
  validate: validateConfigMap,
  validateUpdate: validateConfigMapUpdate,
});
