/** What an EdgeApplication changes for one pool. The first six are KubeEdge's, the others ours. */
import { anything, integer, list, object, type Schema, text, textMap } from './schema.ts';

export type ImageOverrider = {
  predicate?: { path: string };
  /** KubeEdge's proposal writes them in lower case, what it shipped does not: both are read. */
  component: 'Registry' | 'Repository' | 'Tag' | 'registry' | 'repository' | 'tag';
  operator: 'add' | 'remove' | 'replace';
  value?: string;
};

export type EnvOverrider = {
  containerName: string;
  operator: 'add' | 'remove' | 'replace';
  value?: ({ name: string } & Record<string, unknown>)[];
};

export type CommandArgsOverrider = { containerName: string; operator: 'add' | 'remove'; value?: string[] };

export type ResourcesOverrider = {
  containerName: string;
  value: { requests?: Record<string, string | number>; limits?: Record<string, string | number> };
};

/** For labels and annotations. To remove, only the keys of `value` count. */
export type MapOverrider = { operator: 'add' | 'remove' | 'replace'; value?: Record<string, string> };

export type TolerationsOverrider = { operator: 'add' | 'remove'; value?: Record<string, unknown>[] };

/** A JSON patch on the objects that `target` fits; on all when there is none. */
export type PatchOverrider = {
  target?: { kind?: string; name?: string };
  patch: { op: string; path: string; from?: string; value?: unknown }[];
};

export type Overriders = {
  replicas?: number;
  imageOverriders?: ImageOverrider[];
  envOverriders?: EnvOverrider[];
  commandOverriders?: CommandArgsOverrider[];
  argsOverriders?: CommandArgsOverrider[];
  resourcesOverriders?: ResourcesOverrider[];
  labelsOverriders?: MapOverrider[];
  annotationsOverriders?: MapOverrider[];
  tolerationsOverriders?: TolerationsOverrider[];
  patchOverriders?: PatchOverrider[];
};

/** The API server wants to know how often a rule runs at most before it accepts it. */
const MOST_RULES = 64;

const rules = (description: string, rule: Schema): Schema =>
  list(description, rule, { maxItems: MOST_RULES });
const operator = (...operators: string[]): Schema => text('What to do.', { enum: operators });
const containerName = text('The container.', { minLength: 1 });
const quantities = (description: string): Schema => ({
  type: 'object',
  description,
  additionalProperties: { 'x-kubernetes-int-or-string': true },
});

const imageOverrider = object(
  'One change of image names.',
  {
    predicate: object(
      'Only the image at this path; without it, those of all containers.',
      { path: text('Such as /spec/template/spec/containers/0/image.', { maxLength: 512 }) },
      {
        required: ['path'],
        'x-kubernetes-validations': [
          {
            rule: "self.path.startsWith('/')",
            message: 'a path begins with a slash, such as /spec/template/spec/containers/0/image',
          },
        ],
      },
    ),
    component: text('Which part of the name.', {
      enum: ['Registry', 'Repository', 'Tag', 'registry', 'repository', 'tag'],
    }),
    operator: operator('add', 'remove', 'replace'),
    value: text('What to add, or to put in its place.', { maxLength: 512 }),
  },
  {
    required: ['component', 'operator'],
    'x-kubernetes-validations': [
      {
        rule: "self.operator == 'remove' || (has(self.value) && self.value != '')",
        message: 'to add or replace, say in value what comes there',
      },
    ],
  },
);

const mapOverrider = (what: string): Schema =>
  object(
    `One change of ${what}.`,
    { operator: operator('add', 'remove', 'replace'), value: textMap('Keys and values.') },
    { required: ['operator'] },
  );

const commandArgsOverrider = object(
  'One change.',
  {
    containerName,
    operator: operator('add', 'remove'),
    value: list('What to append, or which words to remove.', { type: 'string' }),
  },
  { required: ['containerName', 'operator'] },
);

const patchOverrider = object(
  'A JSON patch.',
  {
    target: object('The objects to patch; without it, all.', {
      kind: text('Their kind.'),
      name: text('Their name in the template.'),
    }),
    patch: list('Operations, in order.', anything('One operation: op, path, from, value.')),
  },
  { required: ['patch'] },
);

/** A new schema each time: `targetNodeGroups` and `targetNodeLabels` both have one. */
export const overriders = (): Schema =>
  object('What is different there.', {
    replicas: integer('How many; 0 is a number too.', { minimum: 0 }),
    imageOverriders: rules('Changes of image names, in order.', imageOverrider),
    envOverriders: rules(
      'Changes of environment variables.',
      object(
        'One change.',
        {
          containerName,
          operator: operator('add', 'remove', 'replace'),
          value: list('Variables; to remove, the name is enough.', anything('One variable.')),
        },
        { required: ['containerName', 'operator'] },
      ),
    ),
    commandOverriders: rules('Changes of commands.', commandArgsOverrider),
    argsOverriders: rules('Changes of arguments.', commandArgsOverrider),
    resourcesOverriders: rules(
      'Changes of resources.',
      object(
        'One change.',
        {
          containerName,
          value: object('What is given here replaces what the template says.', {
            requests: quantities('What the container is sure to get.'),
            limits: quantities('What it can not exceed.'),
          }),
        },
        { required: ['containerName', 'value'] },
      ),
    ),
    labelsOverriders: rules('Changes of labels.', mapOverrider('labels')),
    annotationsOverriders: rules('Changes of annotations.', mapOverrider('annotations')),
    tolerationsOverriders: rules(
      'Changes of tolerations.',
      object(
        'One change.',
        { operator: operator('add', 'remove'), value: list('Tolerations.', anything('One toleration.')) },
        { required: ['operator'] },
      ),
    ),
    patchOverriders: rules('For everything else: JSON patches.', patchOverrider),
  });
