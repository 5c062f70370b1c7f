import type { Service } from '@tidegate/kube';
import { expect, test } from 'vitest';
import { named } from '../testing/cluster.ts';
import { serviceLinks } from './service-links.ts';

const service = (name: string, spec: NonNullable<Service['spec']>): Service =>
  named('Service', name, { spec });

test('a Service has variables for its address and each port', () => {
  const ports = [
    { name: 'web', port: 80 },
    { name: 'admin-ui', port: 8443 },
  ];
  expect(serviceLinks([service('my-shop', { clusterIP: '127.128.0.7', ports })])).toEqual({
    MY_SHOP_SERVICE_HOST: '127.128.0.7',
    MY_SHOP_SERVICE_PORT: '80',
    MY_SHOP_SERVICE_PORT_WEB: '80',
    MY_SHOP_SERVICE_PORT_ADMIN_UI: '8443',
    MY_SHOP_PORT: 'tcp://127.128.0.7:80',
    MY_SHOP_PORT_80_TCP: 'tcp://127.128.0.7:80',
    MY_SHOP_PORT_80_TCP_PROTO: 'tcp',
    MY_SHOP_PORT_80_TCP_PORT: '80',
    MY_SHOP_PORT_80_TCP_ADDR: '127.128.0.7',
    MY_SHOP_PORT_8443_TCP: 'tcp://127.128.0.7:8443',
    MY_SHOP_PORT_8443_TCP_PROTO: 'tcp',
    MY_SHOP_PORT_8443_TCP_PORT: '8443',
    MY_SHOP_PORT_8443_TCP_ADDR: '127.128.0.7',
  });
});

test('a headless Service and one without ports have none', () => {
  expect(
    serviceLinks([
      service('headless', { clusterIP: 'None', ports: [{ port: 80 }] }),
      service('external', { type: 'ExternalName', externalName: 'example.com' }),
    ]),
  ).toEqual({});
});
