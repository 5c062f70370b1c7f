import { type FieldError, fieldError } from '@tidegate/serving';
import { define } from '../define.ts';
import { type PriorityClass, SYSTEM_CLASSES } from '../pod/priority.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { supported } from '../validation/checks.ts';
import { IMMUTABLE } from '../validation/names.ts';

const HIGHEST_OF_USERS = 1_000_000_000;
const SYSTEM_PREFIX = 'system-';

export const priorityclasses = define<PriorityClass>({
  group: 'scheduling.k8s.io',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  shortNames: ['pc'],
  namespaced: false,
  generation: true,
  table: [
    nameColumn,
    { name: 'Value', type: 'integer', field: 'value', cell: ({ value }) => value ?? 0 },
    {
      name: 'Global-Default',
      type: 'boolean',
      field: 'globalDefault',
      cell: ({ globalDefault }) => globalDefault ?? false,
    },
    ageColumn,
    {
      name: 'PreemptionPolicy',
      field: 'preemptionPolicy',
      cell: ({ preemptionPolicy }) => preemptionPolicy ?? '',
    },
  ],
  defaults(object) {
    object.preemptionPolicy ??= 'PreemptLowerPriority';
  },
  validate,
  validateUpdate: (object, old) => [
    ...(object.value === old.value
      ? []
      : [fieldError.forbidden('value', 'may not be changed in an update.')]),
    ...(object.preemptionPolicy === old.preemptionPolicy
      ? []
      : [fieldError.invalid('preemptionPolicy', object.preemptionPolicy, IMMUTABLE)]),
  ],
});

function validate({
  metadata,
  value = 0,
  globalDefault = false,
  preemptionPolicy,
}: PriorityClass): FieldError[] {
  const { name = '' } = metadata;
  const policies = supported('preemptionPolicy', preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  if (name.startsWith(SYSTEM_PREFIX)) {
    const problem = systemProblem(name, value, globalDefault);
    if (problem === undefined) return policies;
    const rule = `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: ${problem}`;
    return [fieldError.forbidden('metadata.name', rule), ...policies];
  }
  if (value <= HIGHEST_OF_USERS) return policies;
  const rule = `maximum allowed value of a user defined priority is ${HIGHEST_OF_USERS}`;
  return [fieldError.forbidden('value', rule), ...policies];
}

function systemProblem(name: string, value: number, globalDefault: boolean): string | undefined {
  const known = SYSTEM_CLASSES.find(({ metadata }) => metadata.name === name);
  if (known === undefined) return `${name} is not a known system priority class`;
  if (known.value !== value) return `value of ${name} PriorityClass must be ${known.value}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}
