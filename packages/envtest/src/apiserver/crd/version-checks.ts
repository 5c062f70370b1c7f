/** Validates the columns, subresources, selectable fields and conversion of a CustomResourceDefinition. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { schemaAt } from '../schema/cel/field-path.ts';
import type { Schema } from '../schema/types.ts';
import type { Conversion, CrdVersion, PrinterColumn } from './types.ts';

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

export function checkColumns(columns: PrinterColumn[], path: string): FieldError[] {
  return columns.flatMap((column, index) => checkColumn(column, `${path}[${index}]`));
}

function checkColumn({ name, type, format, jsonPath }: PrinterColumn, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const oneOf = (allowed: string[]): string => `must be one of ${allowed.join(',')}`;
  if (!name) errors.push(fieldError.required(`${path}.name`));
  if (!type) errors.push(fieldError.required(`${path}.type`, oneOf(COLUMN_TYPES)));
  else if (!COLUMN_TYPES.includes(type))
    errors.push(fieldError.invalid(`${path}.type`, type, oneOf(COLUMN_TYPES)));
  if (format && !COLUMN_FORMATS.includes(format)) {
    errors.push(fieldError.invalid(`${path}.format`, format, oneOf(COLUMN_FORMATS)));
  }
  if (!jsonPath) errors.push(fieldError.required(`${path}.JSONPath`));
  else errors.push(...checkSimplePath(jsonPath, `${path}.JSONPath`));
  return errors;
}

function checkSimplePath(text: string, field: string): FieldError[] {
  if (text.startsWith('.')) return [];
  return [fieldError.invalid(field, text, 'must be a simple json path starting with .')];
}

/** The paths of a scale may contain only field names and must be below spec or status. */
function checkScalePath(
  text: string | undefined,
  field: string,
  roots: string[],
  where: string,
): FieldError[] {
  if (!text) return [fieldError.required(field)];
  const errors = checkSimplePath(text, field);
  if (errors.length > 0) return errors;
  if (/[[\]]/.test(text)) return [fieldError.invalid(field, text, 'must be a json path in the dot notation')];
  if (roots.some((root) => text.startsWith(`${root}.`))) return [];
  return [fieldError.invalid(field, text, `should be a json path under ${where}`)];
}

export function checkSubresources(subresources: CrdVersion['subresources'], path: string): FieldError[] {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  return [
    ...checkScalePath(specReplicasPath, `${path}.scale.specReplicasPath`, ['.spec'], '.spec'),
    ...checkScalePath(statusReplicasPath, `${path}.scale.statusReplicasPath`, ['.status'], '.status'),
    ...(labelSelectorPath
      ? checkScalePath(
          labelSelectorPath,
          `${path}.scale.labelSelectorPath`,
          ['.spec', '.status'],
          'either .spec or .status',
        )
      : []),
  ];
}

const MAX_SELECTABLE_FIELDS = 8;
const SELECTABLE_TYPES = ['string', 'boolean', 'integer'];

export function checkSelectableFields(
  fields: NonNullable<CrdVersion['selectableFields']>,
  schema: Schema,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, { jsonPath = '' }] of fields.entries()) {
    const field = `${path}[${index}].jsonPath`;
    const target = schemaAt(schema, jsonPath);
    if (jsonPath === '') errors.push(fieldError.required(field));
    else if (target === undefined) {
      errors.push(fieldError.invalid(field, jsonPath, 'is an invalid path: does not refer to a valid field'));
    } else if (!SELECTABLE_TYPES.includes(target.type ?? '')) {
      errors.push(
        fieldError.invalid(
          field,
          jsonPath,
          'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        ),
      );
    } else if (seen.has(jsonPath)) errors.push(fieldError.duplicate(field, jsonPath));
    seen.add(jsonPath);
  }
  if (seen.size > MAX_SELECTABLE_FIELDS)
    errors.push(fieldError.tooMany(path, seen.size, MAX_SELECTABLE_FIELDS));
  return errors;
}

const STRATEGIES = ['None', 'Webhook'];

/** Conversion webhooks are accepted but never called. */
export function checkConversion(conversion: Conversion | undefined): FieldError[] {
  if (conversion === undefined) return [];
  const { strategy = '', webhook } = conversion;
  const path = 'spec.conversion';
  const errors: FieldError[] = [];
  if (strategy === '') errors.push(fieldError.required(`${path}.strategy`));
  else if (!STRATEGIES.includes(strategy)) {
    errors.push(fieldError.notSupported(`${path}.strategy`, strategy, STRATEGIES));
  }
  const { clientConfig, conversionReviewVersions = [] } = webhook ?? {};
  if (strategy === 'Webhook') {
    if (clientConfig === undefined) {
      errors.push(
        fieldError.required(`${path}.webhookClientConfig`, 'required when strategy is set to Webhook'),
      );
    } else if ((clientConfig.url === undefined) === (clientConfig.service === undefined)) {
      errors.push(
        fieldError.required(`${path}.webhookClientConfig`, 'exactly one of url or service is required'),
      );
    }
    if (conversionReviewVersions.length === 0) {
      errors.push(fieldError.required(`${path}.conversionReviewVersions`));
    }
    return errors;
  }
  const misplaced = 'should not be set when strategy is not set to Webhook';
  if (clientConfig !== undefined) errors.push(fieldError.forbidden(`${path}.webhookClientConfig`, misplaced));
  if (conversionReviewVersions.length > 0) {
    errors.push(fieldError.forbidden(`${path}.conversionReviewVersions`, misplaced));
  }
  return errors;
}
