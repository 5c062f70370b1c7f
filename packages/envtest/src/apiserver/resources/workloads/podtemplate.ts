import { define } from '../define.ts';
import { defaultPodTemplate } from '../pod/defaults.ts';
import { validatePodTemplate } from '../pod/validate.ts';
import { podTemplateWarnings } from '../pod/warnings.ts';
import { nameColumn } from '../table.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { formatLabels } from '../validation/selectors.ts';
import { templateColumns } from './template.ts';
import type { PodTemplate } from './types.ts';

export const podtemplates = define<PodTemplate>({
  kind: 'PodTemplate',
  plural: 'podtemplates',
  generation: true,
  table: [
    nameColumn,
    ...templateColumns<PodTemplate>(({ template }) => template).map((column) => ({ ...column, wide: false })),
    {
      name: 'Pod Labels',
      description: 'The labels for the pod template.',
      cell: ({ template }) => formatLabels(template?.metadata?.labels),
    },
  ],
  defaults(object) {
    object.template ??= {};
    defaultPodTemplate(object.template);
  },
  validate: ({ template = {} }) => validatePodTemplate(template, 'template'),
  warnings: ({ template = {} }, old) =>
    old !== undefined && semanticallyEqual(template, old.template)
      ? []
      : podTemplateWarnings(template, 'template'),
});
