/** Validation of ReplicationControllers, whose selector is a plain map of labels. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { validatePodTemplate } from '../pod/validate.ts';
import { nonNegative } from '../validation/checks.ts';
import { sortedLabels } from '../validation/selectors.ts';
import type { ReplicationController } from './types.ts';
import { validateRunsForever } from './validate.ts';

const TEMPLATE = 'spec.template';

export function validateReplicationController({ spec }: ReplicationController): FieldError[] {
  return [
    ...nonNegative('spec.minReadySeconds', spec.minReadySeconds),
    ...(Object.keys(spec.selector ?? {}).length === 0 ? [fieldError.required('spec.selector')] : []),
    ...nonNegative('spec.replicas', spec.replicas),
    ...validateTemplate(spec),
  ];
}

function validateTemplate({ template, selector = {} }: ReplicationController['spec']): FieldError[] {
  if (template === undefined) return [fieldError.required(TEMPLATE)];
  const labels = template.metadata?.labels;
  const isSelected = Object.entries(selector).every(([key, value]) => labels?.[key] === value);
  return [
    ...(isSelected
      ? []
      : [
          fieldError.invalid(
            `${TEMPLATE}.metadata.labels`,
            sortedLabels(labels),
            '`selector` does not match template `labels`',
          ),
        ]),
    ...validatePodTemplate(template, TEMPLATE),
    ...validateRunsForever(template, 'ReplicationController'),
  ];
}
