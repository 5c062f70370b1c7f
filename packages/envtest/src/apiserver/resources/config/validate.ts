/** Validation of ConfigMaps and Secrets. */

import { type FieldError, fieldError } from '@tidegate/serving';
import { JsonSyntaxError, parseJson } from '../../schema/json.ts';
import { named } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE, isConfigKey } from '../validation/names.ts';
import type { ConfigMap, Secret } from './types.ts';

const MAX_BYTES = 1024 * 1024;
const FROZEN = 'field is immutable when `immutable` is set';
const ACCOUNT_ANNOTATION = 'kubernetes.io/service-account.name';

const bytesOf = (map: Record<string, string> | undefined, encoding: 'utf8' | 'base64'): number =>
  Object.values(map ?? {}).reduce((sum, value) => sum + Buffer.byteLength(value, encoding), 0);

const validateKeys = (map: Record<string, string> | undefined, path: string): FieldError[] =>
  Object.keys(map ?? {}).flatMap((key) => named(`${path}[${key}]`, key, isConfigKey(key)));

export function validateConfigMap({ data = {}, binaryData = {} }: ConfigMap): FieldError[] {
  const errors: FieldError[] = [];
  for (const key of Object.keys(data)) {
    errors.push(...named(`data[${key}]`, key, isConfigKey(key)));
    if (Object.hasOwn(binaryData, key)) {
      errors.push(fieldError.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData'));
    }
  }
  errors.push(...validateKeys(binaryData, 'binaryData'));
  if (bytesOf(data, 'utf8') + bytesOf(binaryData, 'base64') > MAX_BYTES) {
    errors.push(fieldError.tooLong('', MAX_BYTES));
  }
  return errors;
}

/** Once `immutable` is set, neither it nor these fields can change. */
const frozen = <T extends { immutable?: boolean }>(
  object: T,
  old: T,
  fields: (keyof T & string)[],
): FieldError[] => {
  if (old.immutable !== true) return [];
  return [
    ...(object.immutable === true ? [] : [fieldError.forbidden('immutable', FROZEN)]),
    ...fields
      .filter((field) => !semanticallyEqual(object[field], old[field]))
      .map((field) => fieldError.forbidden(field, FROZEN)),
  ];
};

export const validateConfigMapUpdate = (configMap: ConfigMap, old: ConfigMap): FieldError[] =>
  frozen(configMap, old, ['data', 'binaryData']);

export function validateSecret(secret: Secret): FieldError[] {
  return [
    ...validateKeys(secret.data, 'data'),
    ...(bytesOf(secret.data, 'base64') > MAX_BYTES ? [fieldError.tooLong('data', MAX_BYTES)] : []),
    ...validateContent(secret),
  ];
}

function validateContent({ type, data = {}, metadata }: Secret): FieldError[] {
  const needs = (...keys: string[]): FieldError[] =>
    keys.filter((key) => !Object.hasOwn(data, key)).map((key) => fieldError.required(`data[${key}]`));
  switch (type) {
    case 'kubernetes.io/service-account-token':
      return metadata.annotations?.[ACCOUNT_ANNOTATION]
        ? []
        : [fieldError.required(`metadata.annotations[${ACCOUNT_ANNOTATION}]`)];
    case 'kubernetes.io/dockercfg':
      return [...needs('.dockercfg'), ...validateJson(data, '.dockercfg')];
    case 'kubernetes.io/dockerconfigjson':
      return [...needs('.dockerconfigjson'), ...validateJson(data, '.dockerconfigjson')];
    case 'kubernetes.io/basic-auth':
      return 'username' in data || 'password' in data ? [] : needs('username', 'password');
    case 'kubernetes.io/ssh-auth':
      return data['ssh-privatekey'] ? [] : [fieldError.required('data[ssh-privatekey]')];
    case 'kubernetes.io/tls':
      return needs('tls.crt', 'tls.key');
    default:
      return [];
  }
}

function validateJson(data: Record<string, string>, key: string): FieldError[] {
  if (data[key] === undefined) return [];
  const text = Buffer.from(data[key], 'base64').toString();
  const wrong = (detail: string): FieldError[] => [
    fieldError.invalid(`data[${key}]`, '<secret contents redacted>', detail),
  ];
  if (text.trim() === '') return wrong('unexpected end of JSON input');
  try {
    const value = parseJson(text);
    const kind = Array.isArray(value) ? 'array' : typeof value;
    if (kind === 'object') return [];
    return wrong(`json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return wrong(error.message);
  }
}

export const validateSecretUpdate = (secret: Secret, old: Secret): FieldError[] => [
  ...(secret.type === old.type ? [] : [fieldError.invalid('type', secret.type ?? '', IMMUTABLE)]),
  ...frozen(secret, old, ['data']),
];
