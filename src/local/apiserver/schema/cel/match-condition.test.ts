import { describe, expect, it } from 'vitest';
import { compileMatchCondition, type MatchVariables } from './match-condition.ts';

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

  it('asks whether somebody may do something', () => {
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

  it('tells mistakes apart from values that do not fit', () => {
    expect(() => compileMatchCondition('foo == 1')).toThrow(
      "undeclared reference to 'foo' (in container '')",
    );
    expect(() => compileMatchCondition('object.metadata.nope == 1')(variables)).toThrow('no such key: nope');
  });
});
