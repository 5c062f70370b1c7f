/** Hooks for tests of the built-in resources. */
import type { BuiltinHooks } from './hooks.ts';
import type { ServiceAllocator } from './service/allocator.ts';

const absent = async (): Promise<never> => {
  throw new Error('not part of this test');
};

export const noHooks = (services: ServiceAllocator): BuiltinHooks => ({
  services,
  reviews: {
    tokenreviews: absent,
    selfsubjectreviews: absent,
    subjectaccessreviews: absent,
    selfsubjectaccessreviews: absent,
    localsubjectaccessreviews: absent,
    selfsubjectrulesreviews: absent,
  },
  serviceAccountToken: absent,
  eviction: absent,
  kubelets: { log: absent, exec: absent, attach: absent, portforward: absent, proxy: absent },
  customResourceDefinition: {},
});
