import { describe, expect, it } from 'vitest';
import type { YurtIngressSpec } from '../api/index.ts';
import { yurtIngress } from './testing/objects.ts';
import { wantedClass, wantedRouter } from './wanted.ts';

describe('the program of a front door', () => {
  const driverOf = (spec: YurtIngressSpec) => {
    const owner = yurtIngress('doors', { pools: [{ name: 'hangzhou' }], ...spec });
    const { driver, workload } = wantedRouter('hangzhou', owner).spec;
    return [driver, workload?.image, wantedClass('hangzhou', owner).spec?.controller];
  };

  it('is that of the flavor', () => {
    expect(driverOf({})).toEqual(['nginx', undefined, 'tidegate.io/nginx']);
    expect(driverOf({ ingress_controller_flavor: 'tidegate', ingress_controller_image: 'a' })).toEqual([
      'nginx',
      'a',
      'tidegate.io/nginx',
    ]);
    expect(driverOf({ ingress_controller_flavor: 'ingress-nginx', ingress_controller_image: 'a' })).toEqual([
      'ingress-nginx',
      'a',
      'ingress-nginx.tidegate.io/hangzhou',
    ]);
  });

  it.each([
    'example.com/ingress-nginx/controller:v1.11.2',
    'ingress-nginx/controller@sha256:0123',
    'example.com:5000/mirror/nginx-ingress-controller',
  ])('does not depend on the name of the image: %s', (image) => {
    expect(driverOf({ ingress_controller_image: image })).toEqual(['nginx', image, 'tidegate.io/nginx']);
  });
});
