/**
 * The authoring form of a resource. A definition reads like a table: it lists what is particular about a kind, and
 * `define` adds the rest. `T` is the type of the kind. Requests are decoded against the schema before, so the cast from
 * an unknown object to `T` is safe, and it happens only here.
 */
import { apiVersionOf, type KubeObject } from '@tidegate/kube';
import type { FieldError } from '@tidegate/serving';
import { builtinSchema } from '../schema/builtin.ts';
import type { Schema } from '../schema/types.ts';
import { createdAtTable, type Table, tablePrinter } from './table.ts';
import type {
  RequestContext,
  ResourceDefinition,
  ScalePaths,
  ServedVersion,
  Strategy,
  Subresource,
  Verb,
} from './types.ts';
import { validateKubeFinalizers } from './validation/metadata.ts';
import { type NameRule, nameIsSubdomain } from './validation/names.ts';

const ALL_VERBS: Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The subresource `scale` uses autoscaling/v1 for all kinds. */
const SCALE: Subresource = {
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  verbs: ['get', 'patch', 'update'],
};

/** The paths of the replica counts in the kinds of the apps group. */
export const replicasPaths: ScalePaths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.spec.selector',
};

/** `Strategy` for a kind whose type is known. */
export interface TypedStrategy<T extends KubeObject> {
  defaults?(object: T): void;
  prepareForCreate?(object: T, context: RequestContext): void;
  prepareForUpdate?(object: T, old: T, context: RequestContext): void;
  validate?(object: T, old?: T): FieldError[];
  validateUpdate?(object: T, old: T): FieldError[];
  validateStatusUpdate?(object: T, old: T): FieldError[];
  warnings?(object: T, old: T | undefined): string[];
  afterDelete?(object: T): void;
}

/** A version other than the storage version. Without `schema`, it uses the generated schema of that version. */
export interface LegacyVersion {
  name: string;
  /** Called on first use. */
  schema?: () => Schema;
  deprecationWarning?: string;
  toStorage?(object: KubeObject): KubeObject;
  fromStorage?(object: KubeObject): KubeObject;
}

export interface Authored<T extends KubeObject> extends TypedStrategy<T> {
  group?: string;
  version?: string;
  kind: string;
  plural: string;
  singular?: string;
  namespaced?: boolean;
  shortNames?: string[];
  categories?: string[];
  storage?: string;
  /** The group of the stored objects, if it differs from the group of the resource. */
  storageGroup?: string;
  storageVersion?: string;
  /** Set if the main version is not the storage version. */
  conversion?: Required<Pick<LegacyVersion, 'toStorage' | 'fromStorage'>>;
  /** The schema of the main version, if it is not a generated one. Called on first use. */
  schema?: () => Schema;
  deprecationWarning?: string;
  /** Versions other than the storage version, in order of preference. */
  legacy?: LegacyVersion[];
  verbs?: Verb[];
  subresources?: Record<string, Subresource>;
  name?: NameRule;
  /** Objects that kube-apiserver always writes, even if they are empty. */
  parts?: ('spec' | 'status')[];
  generation?: boolean;
  /** Options of a few kinds; see ResourceDefinition. */
  createOnUpdate?: boolean;
  requiresResourceVersion?: boolean;
  returnsDeleted?: boolean;
  scale?: ScalePaths;
  table?: Table<T>;
  /** The schema whose field descriptions the columns use, if it is not that of the version. */
  documentation?: () => Schema;
  selectableFields?(object: T): Record<string, string>;
  review?: ResourceDefinition['review'];
}

/** Completes what a kind declares with the defaults that most kinds share. */
export function define<T extends KubeObject>(authored: Authored<T>): ResourceDefinition {
  const { group = '', version = 'v1', kind, plural, table = createdAtTable } = authored;
  const serve = (from: LegacyVersion): ServedVersion => {
    const { schema: own, ...rest } = from;
    const make = own ?? (() => builtinSchema(apiVersionOf(group, from.name), kind));
    let made: Schema | undefined;
    const schema = (): Schema => {
      made ??= make();
      return made;
    };
    return {
      ...rest,
      // Resolved on first use, so that the server does not build the schemas of all kinds at the start.
      get schema() {
        return schema();
      },
      printer: tablePrinter(table, authored.documentation ?? schema, from.toStorage),
    };
  };
  const { deprecationWarning, conversion, selectableFields: fields } = authored;
  const main: LegacyVersion = {
    name: version,
    ...(authored.schema && { schema: authored.schema }),
    ...(deprecationWarning && { deprecationWarning }),
    ...conversion,
  };
  return {
    group,
    plural,
    singular: authored.singular ?? kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    namespaced: authored.namespaced ?? true,
    shortNames: authored.shortNames ?? [],
    categories: authored.categories ?? [],
    storage: authored.storage ?? (group === '' ? plural : `${group}/${plural}`),
    storageVersion: authored.storageVersion ?? version,
    versions: [main, ...(authored.legacy ?? [])].map(serve),
    verbs: authored.verbs ?? ALL_VERBS,
    subresources: { ...authored.subresources, ...(authored.scale && { scale: SCALE }) },
    checkName: authored.name ?? nameIsSubdomain,
    ...(fields === undefined ? {} : { selectableFields: (object: KubeObject) => fields(object as T) }),
    generation: authored.generation ?? false,
    ...(conversion && { storageGroup: authored.storageGroup ?? '' }),
    ...(authored.createOnUpdate && { createOnUpdate: true }),
    ...(authored.requiresResourceVersion && { requiresResourceVersion: true }),
    ...(authored.returnsDeleted && { returnsDeleted: true }),
    ...(authored.scale && { scale: authored.scale }),
    custom: false,
    strategy: strategyOf(authored),
    ...(authored.review === undefined ? {} : { review: authored.review }),
  };
}

function strategyOf<T extends KubeObject>(authored: Authored<T>): Strategy {
  const { parts = [], defaults } = authored;
  const { prepareForCreate, prepareForUpdate, validate, validateUpdate } = authored;
  const { validateStatusUpdate, warnings, afterDelete } = authored;
  return {
    defaults(object) {
      for (const part of parts) object[part] ??= {};
      defaults?.(object as T);
    },
    ...(prepareForCreate && { prepareForCreate: (o, context) => prepareForCreate(o as T, context) }),
    ...(prepareForUpdate && {
      prepareForUpdate: (o, old, context) => prepareForUpdate(o as T, old as T, context),
    }),
    validate: (o, old) => [
      ...validateKubeFinalizers(o.metadata),
      ...(validate?.(o as T, old as T | undefined) ?? []),
    ],
    ...(validateUpdate && { validateUpdate: (o, old) => validateUpdate(o as T, old as T) }),
    ...(validateStatusUpdate && {
      validateStatusUpdate: (o, old) => validateStatusUpdate(o as T, old as T),
    }),
    ...(warnings && { warnings: (o, old) => warnings(o as T, old as T | undefined) }),
    ...(afterDelete && { afterDelete: (o) => afterDelete(o as T) }),
  };
}

/** The subresource `status`, which has the kind of the resource and is served generically. */
export const statusOf = (group: string, version: string, kind: string): Record<'status', Subresource> => ({
  status: { group, version, kind, verbs: ['get', 'patch', 'update'] },
});
