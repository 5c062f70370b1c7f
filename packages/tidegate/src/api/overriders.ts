/** Overriders: the changes of an EdgeApplication for one pool. The first six are from KubeEdge, the others from Tidegate. */
import { anything, integer, list, object, type Schema, text, textMap } from './schema.ts';

export type ImageOverrider = {
  predicate?: { path: string };
  /** Lower case in the proposal of KubeEdge, capitalized in its releases. Both are accepted. */
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
  value: {
    requests?: Record<string, string | number>;
    limits?: Record<string, string | number>;
    claims?: { name: string; request?: string }[];
  };
};

/** For labels and annotations. `remove` uses the keys of `value` only. */
export type MapOverrider = { operator: 'add' | 'remove' | 'replace'; value?: Record<string, string> };

export type TolerationsOverrider = { operator: 'add' | 'remove'; value?: Record<string, unknown>[] };

/** A JSON Patch for the objects that match `target`, or for all objects without one. */
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

/** The API server limits the cost of CEL rules, so lists with rules must have a maximum length. */
const MOST_RULES = 64;

const rules = (description: string, rule: Schema): Schema =>
  list(description, rule, { maxItems: MOST_RULES });
const operator = (...operators: string[]): Schema => text('Operation to apply.', { enum: operators });
const containerName = text('Name of the container.', { minLength: 1 });
const quantities = (description: string): Schema => ({
  type: 'object',
  description,
  additionalProperties: { 'x-kubernetes-int-or-string': true },
});

const imageOverrider = object(
  'A change of image names.',
  {
    predicate: object(
      'Limits the change to one image. Default: the images of all containers.',
      {
        path: text('JSON Pointer to the image, for example /spec/template/spec/containers/0/image.', {
          maxLength: 512,
        }),
      },
      {
        required: ['path'],
        'x-kubernetes-validations': [
          {
            rule: "self.path.startsWith('/')",
            message: 'path must start with a slash, for example /spec/template/spec/containers/0/image',
          },
        ],
      },
    ),
    component: text('Part of the image name to change.', {
      enum: ['Registry', 'Repository', 'Tag', 'registry', 'repository', 'tag'],
    }),
    operator: operator('add', 'remove', 'replace'),
    value: text('New value of the component. Required to add or replace.', { maxLength: 512 }),
  },
  {
    required: ['component', 'operator'],
    'x-kubernetes-validations': [
      {
        rule: "self.operator == 'remove' || (has(self.value) && self.value != '')",
        message: 'value is required for the operators add and replace',
      },
    ],
  },
);

const mapOverrider = (what: string): Schema =>
  object(
    `A change of ${what}.`,
    {
      operator: operator('add', 'remove', 'replace'),
      value: textMap('Entries to add or replace. To remove entries, only the keys are used.'),
    },
    { required: ['operator'] },
  );

const commandArgsOverrider = object(
  'A change of the command or the arguments of a container.',
  {
    containerName,
    operator: operator('add', 'remove'),
    value: list('Values to append, or values to remove.', { type: 'string' }),
  },
  { required: ['containerName', 'operator'] },
);

const patchOverrider = object(
  'A JSON Patch (RFC 6902).',
  {
    target: object('Objects to patch. Default: all objects.', {
      kind: text('Kind of the objects.'),
      name: text('Name of the object in the template.'),
    }),
    patch: list('Operations, applied in order.', anything('An operation with op, path, from and value.')),
  },
  { required: ['patch'] },
);

/** Creates a new schema for each of its two uses, `targetNodeGroups` and `targetNodeLabels`. */
export const overriders = (): Schema =>
  object('Changes to the template for this target.', {
    replicas: integer('Number of replicas of each workload. 0 is valid.', { minimum: 0 }),
    imageOverriders: rules('Changes of image names, applied in order.', imageOverrider),
    envOverriders: rules(
      'Changes of environment variables, applied in order.',
      object(
        'A change of environment variables.',
        {
          containerName,
          operator: operator('add', 'remove', 'replace'),
          value: list(
            'Variables to add or replace. To remove variables, only the names are used.',
            anything('An environment variable.'),
          ),
        },
        { required: ['containerName', 'operator'] },
      ),
    ),
    commandOverriders: rules('Changes of container commands, applied in order.', commandArgsOverrider),
    argsOverriders: rules('Changes of container arguments, applied in order.', commandArgsOverrider),
    resourcesOverriders: rules(
      'Changes of container resources, applied in order.',
      object(
        'A change of the resources of a container.',
        {
          containerName,
          value: object('Requests and limits that replace those of the template.', {
            requests: quantities('Minimum resources of the container.'),
            limits: quantities('Maximum resources of the container.'),
            claims: list(
              'Resource claims of the pod that the container uses. Claims with the name of an existing one replace it.',
              object(
                'A resource claim.',
                {
                  name: text('Name of the claim in spec.resourceClaims of the pod.', { minLength: 1 }),
                  request: text('Name of the request in the claim. Default: all of the claim.'),
                },
                { required: ['name'] },
              ),
            ),
          }),
        },
        { required: ['containerName', 'value'] },
      ),
    ),
    labelsOverriders: rules('Changes of labels, applied in order.', mapOverrider('labels')),
    annotationsOverriders: rules('Changes of annotations, applied in order.', mapOverrider('annotations')),
    tolerationsOverriders: rules(
      'Changes of tolerations, applied in order.',
      object(
        'A change of tolerations.',
        { operator: operator('add', 'remove'), value: list('Tolerations.', anything('A toleration.')) },
        { required: ['operator'] },
      ),
    ),
    patchOverriders: rules('JSON Patches for all other changes, applied in order.', patchOverrider),
  });
