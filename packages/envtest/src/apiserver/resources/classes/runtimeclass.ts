import { type FieldError, fieldError } from '@tidegate/serving';
import { define } from '../define.ts';
import { canonicalResources } from '../pod/defaults.ts';
import { validateRequirements } from '../pod/requirements.ts';
import { validateTolerations } from '../pod/scheduling.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { each, named } from '../validation/checks.ts';
import { IMMUTABLE, isDNS1123Label } from '../validation/names.ts';
import { validateLabels } from '../validation/selectors.ts';
import type { RuntimeClass } from './types.ts';

export const runtimeclasses = define<RuntimeClass>({
  group: 'node.k8s.io',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  namespaced: false,
  table: [nameColumn, { name: 'Handler', field: 'handler', cell: ({ handler }) => handler ?? '' }, ageColumn],
  defaults({ overhead }) {
    if (overhead?.podFixed !== undefined) canonicalResources(overhead.podFixed);
  },
  validate,
  validateUpdate: ({ handler }, old) =>
    handler === old.handler ? [] : [fieldError.invalid('handler', handler ?? '', IMMUTABLE)],
});

function validate({ handler = '', overhead, scheduling = {} }: RuntimeClass): FieldError[] {
  return [
    ...(handler === ''
      ? [fieldError.required('handler')]
      : named('handler', handler, isDNS1123Label(handler))),
    ...(overhead === undefined ? [] : validateRequirements({ limits: overhead.podFixed }, 'overhead')),
    ...validateLabels(scheduling.nodeSelector, 'scheduling.nodeSelector'),
    ...validateTolerations(scheduling.tolerations, 'scheduling.tolerations'),
    ...duplicates(scheduling.tolerations ?? []),
  ];
}

function duplicates(
  tolerations: NonNullable<NonNullable<RuntimeClass['scheduling']>['tolerations']>,
): FieldError[] {
  const seen = new Set<string>();
  return each('scheduling.tolerations', tolerations, (toleration, path) => {
    const { key, operator, value, effect, tolerationSeconds } = toleration;
    const id = JSON.stringify([key, operator, value, effect]);
    if (!seen.has(id)) {
      seen.add(id);
      return [];
    }
    const shown = {
      Key: key ?? '',
      Operator: operator ?? '',
      Value: value ?? '',
      Effect: effect ?? '',
      TolerationSeconds: tolerationSeconds ?? null,
    };
    return [fieldError.duplicate(path, shown)];
  });
}
