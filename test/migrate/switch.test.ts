/** `tidegate migrate side-by-side`, `switch` and `finish`, with an API server and the controllers of the manager. */
import { INGRESSES } from '@tidegate/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { IngressWorld, ingressObject } from '../ingress/support.ts';
import { Tidegate } from '../support/tidegate.ts';

let world: IngressWorld;
beforeAll(async () => {
  world = await IngressWorld.start();
  await world.makeClass('nginx', undefined, 'k8s.io/ingress-nginx');
  await world.makeClass('tidegate', { drainTime: '1s' });
});
afterAll(async () => {
  await world.stop();
  expect(world.errors).toEqual([]);
});

async function migrate(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const run = new Tidegate(['migrate', ...args, '--kubeconfig', world.kubeconfig]);
  const { code } = await run.exited;
  return { code, stdout: run.stdout, stderr: run.stderr };
}
/** `name class`, sorted. */
const state = async (): Promise<string[]> =>
  (await world.client.list(INGRESSES, { namespace: 'shop' })).items
    .map(({ metadata, spec }) => `${metadata.name} ${spec?.ingressClassName}`)
    .sort();
/** Writes the address of ingress-nginx, as that does. */
const nginxWrites = (name: string): Promise<unknown> =>
  world.client.patch(INGRESSES, { name, namespace: 'shop', subresource: 'status' }, 'merge', {
    status: { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } },
  });
const DRY = '(dry run)';

it('both controllers serve an Ingress, and one command moves its status there and back', async () => {
  await world.make(ingressObject('web', 'nginx', ['a.example']));
  await nginxWrites('web');

  const early = await migrate('switch');
  expect(early.code).toBe(2);
  expect(early.stderr).toContain('shop/web: not changed: Tidegate does not serve it yet');

  const dry = await migrate('side-by-side', '--dry-run');
  expect(dry.stdout).toMatch(/^shop\/web: create the copy web-tidegate \(class tidegate\): .* \(dry run\)$/m);
  expect(await state()).toEqual(['web nginx']);

  expect(await migrate('side-by-side')).toMatchObject({ code: 0, stderr: '' });
  expect(await state()).toEqual(['web nginx', 'web-tidegate tidegate']);
  await world.routersAre('tidegate: a.example');
  const unserved = await migrate('switch');
  expect(unserved.stderr).toContain('its copy shop/web-tidegate has no address yet');
  await world.run('tidegate');
  await world.serve('tidegate');
  await expect.poll(() => world.addressesOf('web-tidegate')).toHaveLength(1);
  const [address] = await world.addressesOf('web-tidegate');
  expect(await world.addressesOf('web')).toEqual(['198.51.100.1']);

  expect((await migrate('switch', '--dry-run')).stdout.split(DRY)).toHaveLength(4);
  expect(await state()).toEqual(['web nginx', 'web-tidegate tidegate']);
  expect(await migrate('switch', '--ingress', 'shop/web')).toMatchObject({ code: 0, stderr: '' });
  expect(await state()).toEqual(['web tidegate', 'web-nginx nginx']);
  await expect.poll(() => world.addressesOf('web')).toEqual([address]);
  await world.routersAre('tidegate: a.example');
  expect(await migrate('switch')).toMatchObject({ code: 0, stdout: 'Nothing to change.\n' });

  expect(await migrate('switch', '--back')).toMatchObject({ code: 0, stderr: '' });
  expect(await state()).toEqual(['web nginx', 'web-tidegate tidegate']);
  await nginxWrites('web');
  // Until the drain time is over, the router serves the Ingress that leaves its class. Then it serves the copy.
  const addresses = async () => {
    await world.serve('tidegate');
    return world.addressesOf('web-tidegate');
  };
  await expect.poll(addresses).toEqual([address]);
  expect(await world.addressesOf('web')).toEqual(['198.51.100.1']);

  await migrate('switch');
  expect(await migrate('finish')).toMatchObject({ code: 0, stderr: '' });
  expect(await state()).toEqual(['web tidegate']);
});

it('names what is missing', async () => {
  const missing = await migrate('switch', '--ingress', 'shop/none');
  expect(missing).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no Ingress shop/none'),
  });
  const other = await migrate('side-by-side', '--to-class', 'glod');
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no IngressClass glod') });
});
