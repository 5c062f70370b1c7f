import { expect, it } from 'vitest';
import { legacyConversion } from './legacy.ts';

const { toStorage, fromStorage } = legacyConversion('extensions/v1beta1');

const legacy = {
  apiVersion: 'extensions/v1beta1',
  kind: 'Ingress',
  metadata: { name: 'x' },
  spec: {
    backend: { serviceName: 'd', servicePort: 'http' },
    tls: [{ secretName: 's' }],
    rules: [
      { host: 'a.b', http: { paths: [{ path: '/x', backend: { serviceName: 's', servicePort: 80 } }] } },
      { host: 'c.d' },
    ],
  },
};

it('converts a v1beta1 Ingress to v1', () => {
  expect(toStorage(legacy)).toEqual({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'x' },
    spec: {
      defaultBackend: { service: { name: 'd', port: { name: 'http' } } },
      tls: [{ secretName: 's' }],
      rules: [
        {
          host: 'a.b',
          http: {
            paths: [
              {
                path: '/x',
                pathType: 'ImplementationSpecific',
                backend: { service: { name: 's', port: { number: 80 } } },
              },
            ],
          },
        },
        { host: 'c.d' },
      ],
    },
  });
});

it('converts it back to v1beta1 with path types', () => {
  const back = fromStorage(toStorage(legacy));
  const [rule] = legacy.spec.rules;
  const [path] = rule?.http?.paths ?? [];
  expect(back).toEqual({
    ...legacy,
    spec: {
      ...legacy.spec,
      rules: [
        { ...rule, http: { paths: [{ ...path, pathType: 'ImplementationSpecific' }] } },
        legacy.spec.rules[1],
      ],
    },
  });
});
