import { describe, expect, it } from 'vitest';
import { compileMatchCondition, type MatchVariables, validateMatchCondition } from './match-condition.ts';

const variables: MatchVariables = {
  object: { metadata: { name: 'a', labels: { tier: 'edge' } }, spec: { replicas: 3 } },
  oldObject: null,
  request: {
    operation: 'CREATE',
    resource: { group: 'apps' },
    userInfo: { username: 'system:node:n1', groups: ['g'] },
  },
};

describe('compileMatchCondition', () => {
  it.each([
    ['object.spec.replicas > 2', true],
    ["request.operation == 'CREATE' && oldObject == null", true],
    ["!('system:nodes' in request.userInfo.groups)", true],
    [
      "request.userInfo.username.startsWith('system:node:') && request.resource.group != 'coordination.k8s.io'",
      true,
    ],
    ["has(object.metadata.labels) && object.metadata.labels.?tier.orValue('') == 'cloud'", false],
    ["authorizer.group('apps').resource('deployments').namespace('x').check('get').allowed()", false],
  ])('%s', (expression, expected) => {
    expect(compileMatchCondition(expression)(variables)).toBe(expected);
  });

  it('supports authorization checks', () => {
    const questions: unknown[] = [];
    const authorize = (question: unknown): boolean => questions.push(question) > 0;
    const condition = compileMatchCondition(
      "authorizer.group('').resource('pods').subresource('exec').name('p').check('create').allowed()",
    );
    expect(condition({ ...variables, authorize })).toBe(true);
    expect(questions).toEqual([
      { group: '', resource: 'pods', subresource: 'exec', name: 'p', verb: 'create' },
    ]);
  });

  it('distinguishes compile errors from evaluation errors', () => {
    expect(() => compileMatchCondition('foo == 1')).toThrow(
      "undeclared reference to 'foo' (in container '')",
    );
    expect(() => compileMatchCondition('object.metadata.nope == 1')(variables)).toThrow('no such key: nope');
  });
});

describe('validateMatchCondition', () => {
  const messages = (expression: string) => validateMatchCondition(expression, 'e').map(({ body }) => body);

  it.each([
    "!(request.resource.group == 'coordination.k8s.io' && request.resource.resource == 'leases')",
    "!('system:nodes' in request.userInfo.groups)",
    "request.operation in ['CREATE', 'UPDATE'] && has(request.dryRun) && !request.dryRun",
    "request.userInfo.extra['example.com/team'].exists(team, team == 'edge')",
    "has(object.metadata.labels) && 'tier' in object.metadata.labels && oldObject == null",
    "object.?spec.paused.orValue(false) || request.options.fieldManager == 'kubectl'",
    "authorizer.requestResource.check('breakglass').allowed()",
    "authorizer.group('').resource('pods').namespace(request.namespace).check('get').allowed()",
  ])('accepts %s', (expression) => {
    expect(messages(expression)).toEqual([]);
  });

  it('declares the fields of a request', () => {
    expect(messages('request.nothing == 1')).toEqual([
      `Invalid value: "request.nothing == 1": compilation failed: ERROR: <input>:1:8: undefined field 'nothing'
 | request.nothing == 1
 | .......^`,
    ]);
    expect(messages('request.name')).toEqual([
      'Invalid value: "request.name": must evaluate to bool but got string',
    ]);
  });
});
