/** Review resources: nothing is stored, and a create returns the answer. */
import type { KubeObject } from '@tidegate/kube';
import { define } from '../define.ts';
import type { BuiltinHooks, ReviewResource } from '../hooks.ts';
import type { ResourceDefinition } from '../types.ts';

const REVIEWS: [group: string, kind: string, namespaced: boolean][] = [
  ['authentication.k8s.io', 'TokenReview', false],
  ['authentication.k8s.io', 'SelfSubjectReview', false],
  ['authorization.k8s.io', 'SubjectAccessReview', false],
  ['authorization.k8s.io', 'SelfSubjectAccessReview', false],
  ['authorization.k8s.io', 'LocalSubjectAccessReview', true],
  ['authorization.k8s.io', 'SelfSubjectRulesReview', false],
];

export const reviews = (hooks: BuiltinHooks): ResourceDefinition[] =>
  REVIEWS.map(([group, kind, namespaced]) => {
    const plural = `${kind.toLowerCase()}s` as ReviewResource;
    return define<KubeObject>({
      group,
      kind,
      plural,
      namespaced,
      verbs: ['create'],
      parts: ['spec', 'status'],
      name: () => [],
      review: hooks.reviews[plural],
    });
  });
