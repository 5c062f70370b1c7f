import { expect, it } from 'vitest';
import type { RouterProvisioner } from '../../api/index.ts';
import { ProvisionerRegistry } from './registry.ts';

const declared = (name: string, controller: string, created: string): RouterProvisioner => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'RouterProvisioner',
  metadata: { name, creationTimestamp: `2026-01-${created}T00:00:00Z` },
  spec: { controller, limits: { hosts: Number(created) } },
});

const registryOf = (...objects: RouterProvisioner[]): ProvisionerRegistry =>
  new ProvisionerRegistry([], {
    synced: Promise.resolve(),
    cache: { list: () => objects },
    addHandler: () => () => {},
  });

it('a controller name stays with the RouterProvisioner that had it first', () => {
  const registry = registryOf(
    declared('another', 'example.com/f5', '02'),
    declared('first', 'example.com/f5', '01'),
  );
  expect(registry.forController('example.com/f5')?.limits).toEqual({ hosts: 1 });
  expect(registry.problems).toEqual([
    { name: 'another', message: expect.stringContaining('belongs to the provisioner example.com/f5') },
  ]);
});

it.each(['tidegate.io/nginx', 'kubernetes.io/nginx'])('%s belongs to Tidegate', (controller) => {
  const registry = registryOf(declared('mine', controller, '01'));
  expect(registry.forController(controller)?.driver).toBe('nginx');
  expect(registry.problems).toMatchObject([{ name: 'mine' }]);
});
