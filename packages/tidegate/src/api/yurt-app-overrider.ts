/** YurtAppOverrider of OpenYurt: changes for some pools of a YurtAppSet or a YurtAppDaemon. It has no spec. */
import type { Metadata } from './object.ts';
import {
  ageColumn,
  type CustomResourceDefinition,
  definition,
  integer,
  list,
  object,
  text,
} from './schema.ts';
import type { YurtPatch } from './yurt-app-set.ts';
import { openYurtResource, patches, poolNames } from './yurt-app-template.ts';

/** Either of the two. */
export type OverriderItem = { image?: { containerName: string; imageClaim: string }; replicas?: number };

export type OverriderEntry = {
  /** Names; `*` for all pools, and `-name` for all but this one. */
  pools?: string[];
  items?: OverriderItem[];
  patches?: YurtPatch[];
};

export type YurtAppOverrider = {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  subject?: { apiVersion?: string; kind?: string; name?: string };
  entries?: OverriderEntry[];
};

export const YURT_APP_OVERRIDERS = openYurtResource<YurtAppOverrider>('yurtappoverriders', 'v1alpha1');

const entry = object('Changes for some of the pools.', {
  pools: poolNames('Names of the pools. * stands for all pools, and -NAME excludes a pool.'),
  items: list(
    'Changes of images and replicas.',
    object('A change.', {
      image: object(
        'The image of a container.',
        {
          containerName: text('Name of the container.', { minLength: 1 }),
          imageClaim: text('Image of the container.', { minLength: 1 }),
        },
        { required: ['containerName', 'imageClaim'] },
      ),
      replicas: integer('Number of replicas.', { minimum: 0 }),
    }),
  ),
  patches: patches('{{nodepool}}'),
});

const schema = object(
  'YurtAppOverrider changes the workloads of a YurtAppSet or a YurtAppDaemon in some pools.',
  {
    apiVersion: text('API group and version of the object.'),
    kind: text('Kind of the object.'),
    metadata: { type: 'object' },
    subject: object(
      'The YurtAppSet or YurtAppDaemon, in the same namespace. It can have one YurtAppOverrider.',
      {
        apiVersion: text('API group and version: apps.openyurt.io/v1alpha1 or apps.openyurt.io/v1beta1.'),
        kind: text('Kind of the subject.', { enum: ['YurtAppSet', 'YurtAppDaemon'] }),
        name: text('Name of the subject.', { minLength: 1 }),
      },
      { required: ['kind', 'name'] },
    ),
    entries: list('The changes, applied in order.', entry),
  },
  { required: ['subject', 'entries'] },
);

export const yurtAppOverriderDefinition = (): CustomResourceDefinition =>
  definition({
    group: YURT_APP_OVERRIDERS.group,
    kind: 'YurtAppOverrider',
    plural: YURT_APP_OVERRIDERS.resource,
    shortNames: ['yao'],
    scope: 'Namespaced',
    versions: ['v1alpha1'],
    schema,
    hasStatus: false,
    columns: [
      { name: 'Subject', type: 'string', jsonPath: '.subject.kind', description: 'Kind of the subject' },
      { name: 'Name', type: 'string', jsonPath: '.subject.name', description: 'Name of the subject' },
      ageColumn,
    ],
  });
