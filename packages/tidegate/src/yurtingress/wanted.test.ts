import { describe, expect, it } from 'vitest';
import { yurtIngress } from './testing/objects.ts';
import { wantedClass, wantedRouter } from './wanted.ts';

describe('the image of a front door', () => {
  it.each([
    [undefined, 'nginx', 'tidegate.io/nginx'],
    ['example.com:5000/tidegate:1.0', 'nginx', 'tidegate.io/nginx'],
    ['example.com/my-nginx-ingress-controller:1.0', 'nginx', 'tidegate.io/nginx'],
    ['example.com/ingress-nginx/controller:v1.11.2', 'ingress-nginx', 'ingress-nginx.tidegate.io/hangzhou'],
    ['ingress-nginx/controller@sha256:0123', 'ingress-nginx', 'ingress-nginx.tidegate.io/hangzhou'],
    ['ingress-nginx/controller-chroot:v1.11.2', 'ingress-nginx', 'ingress-nginx.tidegate.io/hangzhou'],
    [
      'example.com:5000/mirror/nginx-ingress-controller',
      'ingress-nginx',
      'ingress-nginx.tidegate.io/hangzhou',
    ],
  ])('%s uses the driver %s', (image, driver, controller) => {
    const owner = yurtIngress('doors', {
      pools: [{ name: 'hangzhou' }],
      ...(image !== undefined && { ingress_controller_image: image }),
    });
    const { spec } = wantedRouter('hangzhou', owner);
    expect([spec.driver, spec.workload?.image]).toEqual([driver, image]);
    expect(wantedClass('hangzhou', owner).spec).toEqual({ controller });
  });
});
