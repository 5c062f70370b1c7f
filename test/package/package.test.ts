import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster, eventually } from '../support/cluster.ts';
import { ask } from '../support/load.ts';
import { Tidegate } from '../support/tidegate.ts';
import { Installation, type NodeRelease } from './installation.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await Installation.make();
});
afterAll(async () => {
  await installation?.remove();
});

test('the package has the program, manifests, documents and examples, and no tools of the repository', async () => {
  for (const name of [
    'deploy/crds',
    'deploy/base/admission.yaml',
    'deploy/chart/templates/webhooks.yaml',
    'deploy/webhooks-before-1.30.yaml',
    'docs',
    'examples/story',
    'README.md',
    'LICENSE',
  ]) {
    expect(existsSync(installation.file(name)), name).toBe(true);
  }
  const built = await readdir(installation.file('dist'), { recursive: true });
  expect(built.filter((name) => /bench|soak|chaos|\.map$/.test(name))).toEqual([]);
});

test.each<NodeRelease>([16, 18])('says in one sentence that Node %i is too old', async (release) => {
  const run = new Tidegate(['up'], [installation.node(release), installation.program]);
  expect((await run.exited).code).toBe(1);
  expect(run.stdout + run.stderr).toMatch(
    /^tidegate: Node\.js \S+ or newer is required, but this is Node\.js .*; install a newer version\n$/,
  );
});

describe.each<NodeRelease>([20, 22, 24])('on Node %i', (release) => {
  test('runs the story: traffic stays in the pool, also while its link is cut', async () => {
    const command = [installation.node(release), installation.program];
    const version = new Tidegate(['--version'], command);
    expect(await version.exited).toEqual({ code: 0, signal: null });
    expect(version.stdout.trim()).toBe(await installation.version());

    const cluster = await Cluster.startWith(command);
    try {
      const doors = await eventually('both front doors answer', () => answers(cluster));
      expect(doors).toEqual({ hangzhou: 'hangzhou', beijing: 'beijing' });
      await cluster.tidegate('cut', 'hangzhou');
      expect(await answers(cluster)).toEqual(doors);
      expect(await cluster.tidegate('status')).toMatch(/hangzhou.*cut/);
      await cluster.tidegate('mend', 'hangzhou');
    } finally {
      await cluster.stop();
    }
  });
});

/** The pool of the pod that answers at each front door. */
async function answers(cluster: Cluster): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const pool of ['hangzhou', 'beijing']) {
    const address = await cluster.kubectl.run(
      `get l7router ${pool} -o jsonpath={.status.addresses[0].ip}:{.status.addresses[0].ports[0].port}`,
    );
    found[pool] = (await ask(`http://${address}/`, undefined, { host: 'www.example.com' })).pool;
  }
  return found;
}
