import { expect, it } from 'vitest';
import { edgeApplicationSchema } from '../api/index.ts';
import { shapeProblems } from './shape.ts';

const application = (workloadScope: unknown, manifests: unknown = []): object => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name: 'app', labels: { a: 'b' } },
  spec: { workloadTemplate: { manifests }, workloadScope },
});
const target = (overriders: object): object => ({ targetNodeGroups: [{ name: 'a', overriders }] });
const OVERRIDERS = 'spec.workloadScope.targetNodeGroups[0].overriders';

it.each([
  [application({}), []],
  [application({}, [{ any: { thing: 1 } }]), []],
  [
    application(
      target({ replicas: 0, resourcesOverriders: [{ containerName: 'c', value: { limits: { cpu: 2 } } }] }),
    ),
    [],
  ],
  [{ kind: 'EdgeApplication' }, ['spec: required value']],
  [application(undefined), ['spec.workloadScope: required value']],
  [application({ targetNodeGroups: { name: 'a' } }), ['spec.workloadScope.targetNodeGroups: must be a list']],
  [application({ targetNodeGroups: [{}] }), ['spec.workloadScope.targetNodeGroups[0].name: required value']],
  [application({}, ['text']), ['spec.workloadTemplate.manifests[0]: must be a map']],
  [application(target({ replicas: '2' })), [`${OVERRIDERS}.replicas: must be a whole number`]],
  [application(target({ imageOverrider: [] })), [`${OVERRIDERS}.imageOverrider: unknown field`]],
  [
    application(target({ imageOverriders: [{ component: 'Name', operator: 'remove' }] })),
    [
      `${OVERRIDERS}.imageOverriders[0].component: unsupported value "Name"; supported values: Registry, Repository, Tag, registry, repository, tag`,
    ],
  ],
  [
    application(target({ labelsOverriders: [{ operator: 'add', value: { a: 1 } }] })),
    [`${OVERRIDERS}.labelsOverriders[0].value.a: must be a string: put it in quotes`],
  ],
])('%j', (document, expected) => {
  expect(
    shapeProblems(edgeApplicationSchema, document).map(({ path, message }) => `${path}: ${message}`),
  ).toEqual(expected);
});
