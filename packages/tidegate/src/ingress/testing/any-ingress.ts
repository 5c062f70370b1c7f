/** Random Ingresses for property tests. There are few names, so that Ingresses often conflict. */
import fc from 'fast-check';
import { CLASS, ingress } from './objects.ts';

export const NAMESPACES = ['red', 'blue'] as const;
export const SECRETS = ['s1', 's2'] as const;
export const SERVICES = ['one', 'two'] as const;
export const HOSTS = ['a.x.io', 'b.x.io', '*.x.io', 'b.y.io'] as const;

const namespace = fc.constantFrom(...NAMESPACES);
const host = fc.constantFrom('', ...HOSTS, 'not a host');
const path = fc.constantFrom('/', '/p', '/p/', '/p/q', '/../p');
const backend = fc.constantFrom('one:80', 'one:http', 'two:81', 'two:none', 'gone:80');
const secretName = fc.constantFrom(...SECRETS);
const few = { maxLength: 3 };

export const anyIngress = fc
  .record({
    name: fc.constantFrom('i1', 'i2', 'i3'),
    namespace,
    age: fc.integer({ min: 0, max: 3 }),
    className: fc.constantFrom(CLASS, CLASS, CLASS, 'silver'),
    rules: fc.dictionary(
      fc.tuple(fc.constantFrom('', '='), host, path).map((parts) => parts.join('')),
      backend,
      { maxKeys: 3 },
    ),
    defaultBackend: fc.option(backend, { nil: undefined, freq: 3 }),
    tls: fc.array(fc.record({ hosts: fc.array(host, few), secretName }), { maxLength: 2 }),
    annotations: fc.constantFrom<Record<string, string>[]>(
      {},
      { 'tidegate.io/balance': 'leastConnections' },
      { 'tidegate.io/ssl-redirect': 'true', 'tidegate.io/unknown': '' },
      { 'tidegate.io/backend-protocol': 'what' },
      { 'nginx.ingress.kubernetes.io/auth-snippet': 'http://a' },
    ),
  })
  .map(ingress);
