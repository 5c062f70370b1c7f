import type { KubeObject } from '@tidegate/kube';
import { define } from '../define.ts';
import type { BuiltinHooks } from '../hooks.ts';
import { ageColumn, nameColumn } from '../table.ts';
import type { ResourceDefinition } from '../types.ts';

export const serviceaccounts = (hooks: BuiltinHooks): ResourceDefinition =>
  define<KubeObject>({
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    shortNames: ['sa'],
    returnsDeleted: true,
    table: [nameColumn, ageColumn],
    subresources: {
      token: {
        group: 'authentication.k8s.io',
        version: 'v1',
        kind: 'TokenRequest',
        verbs: ['create'],
        handle: hooks.serviceAccountToken,
      },
    },
  });
