import type { KubeObject } from '@tidegate/kube';
import { define, statusOf } from '../define.ts';
import type { BuiltinHooks } from '../hooks.ts';
import type { ResourceDefinition } from '../types.ts';

interface CustomResourceDefinition extends KubeObject {
  spec: {
    names?: { kind?: string; singular?: string; listKind?: string };
    conversion?: { strategy?: string; webhook?: { clientConfig?: { service?: { port?: number } } } };
  };
}

/** The behavior of the kind is in `../crd`, which provides its strategy. */
export function customresourcedefinitions(hooks: BuiltinHooks): ResourceDefinition {
  const definition = define<CustomResourceDefinition>({
    group: 'apiextensions.k8s.io',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    namespaced: false,
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    parts: ['spec', 'status'],
    generation: true,
    subresources: statusOf('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition'),
    defaults({ spec }) {
      spec.names ??= {};
      const { kind = '' } = spec.names;
      spec.names.singular ||= kind.toLowerCase();
      if (kind !== '') spec.names.listKind ||= `${kind}List`;
      spec.conversion ??= { strategy: 'None' };
      const service = spec.conversion.webhook?.clientConfig?.service;
      if (service !== undefined) service.port ??= 443;
    },
  });
  const { defaults } = definition.strategy;
  const hooked = hooks.customResourceDefinition;
  return {
    ...definition,
    strategy: {
      ...hooked,
      defaults(object) {
        defaults?.(object);
        hooked.defaults?.(object);
      },
    },
  };
}
