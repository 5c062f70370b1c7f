/** Checks that StorageClass, VolumeAttributesClass and the CSI kinds share. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { named, required } from '../validation/checks.ts';
import { isDNS1123Subdomain, isLabelKey } from '../validation/names.ts';

const MAX_PARAMETERS = 512;
const MAX_PARAMETER_BYTES = 256 * 1024;
const MAX_DRIVER_NAME = 63;

export const validateProvisioner = (name: string | undefined, path: string): FieldError[] =>
  name === undefined || name === ''
    ? required(path, name)
    : named(path, name.toLowerCase(), isLabelKey(name.toLowerCase()));

export function validateParameters(
  parameters: Record<string, string> | undefined,
  path: string,
): FieldError[] {
  const entries = Object.entries(parameters ?? {});
  if (entries.length > MAX_PARAMETERS) return [fieldError.tooLong(path, MAX_PARAMETERS)];
  const bytes = entries.reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0);
  return [
    ...entries
      .filter(([key]) => key === '')
      .map(([key]) => fieldError.invalid(path, key, 'field can not be empty.')),
    ...(bytes > MAX_PARAMETER_BYTES ? [fieldError.tooLong(path, MAX_PARAMETER_BYTES)] : []),
  ];
}

export function validateDriverName(name: string | undefined, path: string): FieldError[] {
  if (name === undefined || name === '') return required(path, name);
  return [
    ...(name.length > MAX_DRIVER_NAME ? [fieldError.tooLong(path, MAX_DRIVER_NAME)] : []),
    ...named(path, name, isDNS1123Subdomain(name.toLowerCase())),
  ];
}

export const validateClassName = (name: string | undefined, path: string): FieldError[] =>
  name === undefined || name === '' ? [] : named(path, name, isDNS1123Subdomain(name));
