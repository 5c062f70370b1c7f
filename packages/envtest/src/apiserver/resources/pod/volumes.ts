/** Validation of volumes and volume mounts. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { each, named, oneOf, required, supported } from '../validation/checks.ts';
import { isDNS1123Label } from '../validation/names.ts';
import { VOLUME_FIELDS, validateFieldRef, validateResourceRef } from './env.ts';
import type { Container, DownwardAPIItem, KeyToPath, ProjectedSource, Volume } from './types.ts';

const MODE = 'must be a number between 0 and 0777 (octal), both inclusive';
const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

const validateMode = (path: string, mode: number | undefined): FieldError[] =>
  mode !== undefined && (mode > 0o777 || mode < 0) ? [fieldError.invalid(path, mode, MODE)] : [];

export const noBacksteps = (path: string, value: string): FieldError[] =>
  value.split('/').includes('..') ? [fieldError.invalid(path, value, "must not contain '..'")] : [];

const descending = (path: string, value: string): FieldError[] => [
  ...(value.startsWith('/') ? [fieldError.invalid(path, value, 'must be a relative path')] : []),
  ...noBacksteps(path, value),
];

const local = (path: string, value: string): FieldError[] => [
  ...descending(path, value),
  ...(value.startsWith('..') && !value.startsWith('../')
    ? [fieldError.invalid(path, value, "must not start with '..'")]
    : []),
];

const validateItems = (items: KeyToPath[] | undefined, path: string): FieldError[] =>
  each(path, items, ({ key, path: target = '', mode }, at) => [
    ...required(`${at}.key`, key),
    ...required(`${at}.path`, target),
    ...local(`${at}.path`, target),
    ...validateMode(`${at}.mode`, mode),
  ]);

function validateDownwardItem(item: DownwardAPIItem, path: string): FieldError[] {
  const errors = [...required(`${path}.path`, item.path), ...local(`${path}.path`, item.path ?? '')];
  if (item.fieldRef) {
    errors.push(...validateFieldRef(item.fieldRef, VOLUME_FIELDS, `${path}.fieldRef`));
    if (item.resourceFieldRef) {
      const detail = 'fieldRef and resourceFieldRef can not be specified simultaneously';
      errors.push(fieldError.invalid(path, 'resource', detail));
    }
  } else if (item.resourceFieldRef) {
    errors.push(...validateResourceRef(item.resourceFieldRef, true, `${path}.resourceFieldRef`));
  } else errors.push(fieldError.required(path, 'one of fieldRef and resourceFieldRef is required'));
  return [...errors, ...validateMode(`${path}.mode`, item.mode)];
}

function validateProjection(sources: ProjectedSource[] | undefined, path: string): FieldError[] {
  const seen = new Set<string>();
  const unique = (target: string | undefined, shown: string | undefined): FieldError[] => {
    if (!target) return [];
    if (seen.has(target)) return [fieldError.invalid(path, shown ?? '', 'conflicting duplicate paths')];
    seen.add(target);
    return [];
  };
  return each(`${path}.sources`, sources, (source, at) => {
    const { secret, configMap, downwardAPI, serviceAccountToken: token } = source;
    const errors: FieldError[] = [];
    for (const [kind, from] of Object.entries({ secret, configMap })) {
      if (from === undefined) continue;
      errors.push(...required(`${at}.${kind}.name`, from.name));
      for (const [i, item] of (from.items ?? []).entries()) {
        errors.push(
          ...validateItems([item], `${at}.${kind}.items`).map((e) => reindexed(e, `${at}.${kind}.items`, i)),
        );
        errors.push(...unique(item.path, from.name));
      }
    }
    for (const item of downwardAPI?.items ?? []) {
      errors.push(...validateDownwardItem(item, `${at}.downwardAPI`), ...unique(item.path, item.path));
    }
    if (token) {
      if ((token.expirationSeconds ?? 0) < 600) {
        const detail = 'may not specify a duration less than 10 minutes';
        errors.push(
          fieldError.invalid(`${at}.serviceAccountToken.expirationSeconds`, token.expirationSeconds, detail),
        );
      }
      errors.push(
        ...(token.path ? local(`${path}.path`, token.path) : [fieldError.required(`${path}.path`)]),
      );
    }
    if (Object.keys(source).length > 1) {
      errors.push(fieldError.forbidden(at, 'may not specify more than 1 volume type per source'));
    }
    return errors;
  });
}

const reindexed = (error: FieldError, path: string, index: number): FieldError => ({
  ...error,
  field: error.field.replace(`${path}[0]`, `${path}[${index}]`),
});

/** The volume types that have validation. */
export const VOLUME_SOURCES: {
  [K in keyof Volume]?: (source: NonNullable<Volume[K]>, path: string) => FieldError[];
} = {
  emptyDir: ({ sizeLimit = '' }, path) =>
    sizeLimit.startsWith('-')
      ? [fieldError.forbidden(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
      : [],
  hostPath: ({ path: target = '', type }, path) =>
    target === ''
      ? [fieldError.required(`${path}.path`)]
      : [...noBacksteps(`${path}.path`, target), ...supported(`${path}.type`, type, HOST_PATH_TYPES)],
  secret: ({ secretName, defaultMode, items }, path) => [
    ...required(`${path}.secretName`, secretName),
    ...validateMode(`${path}.defaultMode`, defaultMode),
    ...validateItems(items, `${path}.items`),
  ],
  configMap: ({ name, defaultMode, items }, path) => [
    ...required(`${path}.name`, name),
    ...validateMode(`${path}.defaultMode`, defaultMode),
    ...validateItems(items, `${path}.items`),
  ],
  nfs: ({ server, path: target = '' }, path) => [
    ...required(`${path}.server`, server),
    ...required(`${path}.path`, target),
    ...(target.startsWith('/')
      ? []
      : [fieldError.invalid(`${path}.path`, target, 'must be an absolute path')]),
  ],
  persistentVolumeClaim: ({ claimName }, path) => required(`${path}.claimName`, claimName),
  downwardAPI: ({ items, defaultMode }, path) => [
    ...validateMode(`${path}.defaultMode`, defaultMode),
    ...(items ?? []).flatMap((item) => validateDownwardItem(item, path)),
  ],
  projected: ({ sources, defaultMode }, path) => [
    ...validateMode(`${path}.defaultMode`, defaultMode),
    ...validateProjection(sources, path),
  ],
  csi: ({ driver }, path) => required(`${path}.driver`, driver),
  image: ({ pullPolicy }, path) => oneOf(`${path}.pullPolicy`, pullPolicy, PULL_POLICIES),
};

function validateSource({ name: _, ...sources }: Volume, path: string): FieldError[] {
  const kinds = Object.keys(sources) as (keyof typeof sources)[];
  if (kinds.length === 0) return [fieldError.required(path, 'must specify a volume type')];
  // In the order of the API, not of the manifest. Only the first volume type is validated.
  const known = Object.keys(VOLUME_SOURCES);
  kinds.sort((a, b) => known.indexOf(a) - known.indexOf(b));
  return kinds.flatMap((kind, i) => {
    if (i > 0) return [fieldError.forbidden(`${path}.${kind}`, 'may not specify more than 1 volume type')];
    const check = VOLUME_SOURCES[kind] as ((source: unknown, path: string) => FieldError[]) | undefined;
    return check?.(sources[kind], `${path}.${kind}`) ?? [];
  });
}

export function validateVolumes(volumes: Volume[] | undefined, path: string): FieldError[] {
  const seen = new Set<string>();
  return each(path, volumes, (volume, at) => {
    const { name = '' } = volume;
    const errors = [
      ...validateSource(volume, at),
      ...(name === ''
        ? [fieldError.required(`${at}.name`)]
        : named(`${at}.name`, name, isDNS1123Label(name))),
      ...(seen.has(name) ? [fieldError.duplicate(`${at}.name`, name)] : []),
    ];
    if (errors.length === 0) seen.add(name);
    return errors;
  });
}

export function validateMounts(
  container: Container,
  volumes: ReadonlySet<string>,
  path: string,
): FieldError[] {
  const points = new Set<string>();
  const mounts = `${path}.volumeMounts`;
  const privileged = container.securityContext?.privileged === true;
  return each(mounts, container.volumeMounts, (mount, at) => {
    const { name = '', mountPath = '', subPath = '', subPathExpr = '', mountPropagation } = mount;
    const errors = [
      ...required(`${at}.name`, name),
      ...(volumes.has(name) ? [] : [fieldError.notFound(`${at}.name`, name)]),
      ...required(`${at}.mountPath`, mountPath),
      ...(points.has(mountPath) ? [fieldError.invalid(`${at}.mountPath`, mountPath, 'must be unique')] : []),
      ...(subPath === '' ? [] : descending(`${mounts}.subPath`, subPath)),
    ];
    points.add(mountPath);
    if (subPathExpr !== '') {
      if (subPath !== '') {
        const detail = 'subPathExpr and subPath are mutually exclusive';
        errors.push(fieldError.invalid(`${at}.subPathExpr`, subPathExpr, detail));
      }
      errors.push(...descending(`${mounts}.subPathExpr`, subPathExpr));
    }
    const modes = ['Bidirectional', 'HostToContainer', 'None'];
    errors.push(...supported(`${mounts}.mountPropagation`, mountPropagation, modes));
    if (mountPropagation === 'Bidirectional' && !privileged) {
      const detail = 'Bidirectional mount propagation is available only to privileged containers';
      errors.push(fieldError.forbidden(`${mounts}.mountPropagation`, detail));
    }
    return errors;
  });
}
