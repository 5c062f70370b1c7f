import { setField } from '@tidegate/kube';
import { define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { tlsWarnings } from './tls.ts';
import type { Secret } from './types.ts';
import { validateSecret, validateSecretUpdate } from './validate.ts';

export const secrets = define<Secret>({
  kind: 'Secret',
  plural: 'secrets',
  table: [
    nameColumn,
    { name: 'Type', field: 'type', cell: ({ type }) => type ?? '' },
    { name: 'Data', field: 'data', cell: ({ data }) => Object.keys(data ?? {}).length },
    ageColumn,
  ],
  selectableFields: ({ type }) => ({ type: type ?? '' }),
  defaults(secret) {
    secret.type ||= 'Opaque';
    // stringData is write-only: it is merged into data.
    for (const [key, value] of Object.entries(secret.stringData ?? {})) {
      secret.data ??= {};
      setField(secret.data, key, Buffer.from(value).toString('base64'));
    }
    delete secret.stringData;
  },
  validate: validateSecret,
  warnings: tlsWarnings,
  validateUpdate: validateSecretUpdate,
});
