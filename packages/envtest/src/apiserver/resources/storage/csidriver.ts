import { type FieldError, fieldError } from '@tidegate/serving';
import { define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { each, supported } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE } from '../validation/names.ts';
import type { CsiDriver } from './types.ts';

const MIN_TOKEN_SECONDS = 600;
const MIN_UPDATE_SECONDS = 10;
const TOKEN_WARNING =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';
const MODES = ['Persistent', 'Ephemeral'];

export const csidrivers = define<CsiDriver>({
  group: 'storage.k8s.io',
  kind: 'CSIDriver',
  plural: 'csidrivers',
  namespaced: false,
  parts: ['spec'],
  generation: true,
  table: [
    nameColumn,
    {
      name: 'AttachRequired',
      type: 'boolean',
      field: 'spec.attachRequired',
      cell: ({ spec }) => spec.attachRequired ?? true,
    },
    {
      name: 'PodInfoOnMount',
      type: 'boolean',
      field: 'spec.podInfoOnMount',
      cell: ({ spec }) => spec.podInfoOnMount ?? false,
    },
    {
      name: 'StorageCapacity',
      type: 'boolean',
      field: 'spec.storageCapacity',
      cell: ({ spec }) => spec.storageCapacity ?? false,
    },
    {
      name: 'TokenRequests',
      field: 'spec.tokenRequests',
      cell: ({ spec }) => spec.tokenRequests?.map(({ audience }) => audience ?? '').join(',') || '<unset>',
    },
    {
      name: 'RequiresRepublish',
      type: 'boolean',
      field: 'spec.requiresRepublish',
      cell: ({ spec }) => spec.requiresRepublish ?? false,
    },
    {
      name: 'Modes',
      field: 'spec.volumeLifecycleModes',
      cell: ({ spec }) => (spec.volumeLifecycleModes ?? []).join(',') || '<none>',
    },
    ageColumn,
  ],
  defaults({ spec }) {
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
    if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
  },
  validate,
  warnings: ({ spec }, old) =>
    (spec.tokenRequests ?? []).length > 0 &&
    spec.serviceAccountTokenInSecrets === undefined &&
    (old === undefined || !semanticallyEqual(spec, old.spec))
      ? [TOKEN_WARNING]
      : [],
  validateUpdate: ({ spec }, old) =>
    (
      [
        ['attachRequired', 'attachedRequired'],
        ['volumeLifecycleModes', 'volumeLifecycleModes'],
      ] as const
    ).flatMap(([field, shown]) =>
      semanticallyEqual(spec[field], old.spec[field])
        ? []
        : [fieldError.invalid(`spec.${shown}`, spec[field], IMMUTABLE)],
    ),
});

function validate({ spec }: CsiDriver): FieldError[] {
  const { fsGroupPolicy, tokenRequests, volumeLifecycleModes = [] } = spec;
  const { nodeAllocatableUpdatePeriodSeconds: period, serviceAccountTokenInSecrets: inSecrets } = spec;
  const seen = new Set<string>();
  return [
    ...supported('spec.fsGroupPolicy', fsGroupPolicy, ['File', 'None', 'ReadWriteOnceWithFSType']),
    ...each('spec.tokenRequests', tokenRequests, ({ audience = '', expirationSeconds: seconds }, path) => {
      if (seen.has(audience)) return [fieldError.duplicate(`${path}.audience`, audience)];
      seen.add(audience);
      return validateExpiration(seconds, `${path}.expirationSeconds`);
    }),
    ...volumeLifecycleModes.flatMap((mode) =>
      MODES.includes(mode) ? [] : [fieldError.notSupported('spec.volumeLifecycleModes', mode, MODES)],
    ),
    ...(period !== undefined && period < MIN_UPDATE_SECONDS
      ? [
          fieldError.invalid(
            'spec.nodeAllocatableUpdatePeriodSeconds',
            period,
            'must be greater than or equal to 10 seconds',
          ),
        ]
      : []),
    ...(inSecrets !== undefined && (tokenRequests ?? []).length === 0
      ? [
          fieldError.invalid(
            'spec.serviceAccountTokenInSecrets',
            inSecrets,
            'serviceAccountTokenInSecrets is set but no tokenRequests are specified',
          ),
        ]
      : []),
  ];
}

function validateExpiration(seconds: number | undefined, path: string): FieldError[] {
  if (seconds === undefined) return [];
  if (seconds < MIN_TOKEN_SECONDS) {
    return [fieldError.invalid(path, seconds, 'may not specify a duration less than 10 minutes')];
  }
  return seconds > 2 ** 32
    ? [fieldError.invalid(path, seconds, 'may not specify a duration larger than 2^32 seconds')]
    : [];
}
