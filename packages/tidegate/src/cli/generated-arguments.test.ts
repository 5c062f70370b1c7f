import { join } from 'node:path';
import type { Deployment } from '@tidegate/kube';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import type { L7Router } from '../api/index.ts';
import { PORTS } from '../ingress/provision/router-program.ts';
import { tidegateRouter } from '../ingress/provision/tidegate-router.ts';
import { defaultValues, objectsOf, readChart, valueDefinitions } from '../install/index.ts';
import { createProgram } from './program.ts';

/** The options in `args` that the command they are for does not have. */
async function unknownOptions([name = '', ...args]: readonly string[]): Promise<string[]> {
  const { commands } = await createProgram();
  const command = commands.find((each: Command) => each.name() === name);
  if (command === undefined) return [`command ${name}`];
  const known = command.options.map(({ long }) => long);
  const given = args.filter((argument) => argument.startsWith('--')).map((option) => option.split('=')[0]!);
  return given.filter((option) => !known.includes(option));
}

describe('command lines that Tidegate writes itself contain only options that exist', () => {
  it('in the pods of routers', async () => {
    const router: L7Router = {
      apiVersion: 'networking.tidegate.io/v1alpha1',
      kind: 'L7Router',
      metadata: { name: 'gold' },
      spec: { ingressClassName: 'gold', driver: 'nginx', pool: 'hangzhou', workload: { accessLog: true } },
    } as L7Router;
    const identity = { name: 'r', namespace: 'n', metadata: { name: 'r', namespace: 'n' } };
    const pod = tidegateRouter.pod(router, identity as never, 'image', PORTS);
    for (const { args = [] } of pod.containers) expect(await unknownOptions(args)).toEqual([]);
  });

  it('in the Deployments of an installation', async () => {
    const definitions = valueDefinitions('1.0.0');
    const chart = readChart(join(import.meta.dirname, '../../../../deploy/chart'));
    const objects = objectsOf(chart, { values: defaultValues(definitions), namespace: 'tidegate-system' });
    const deployments = objects.filter(({ kind }) => kind === 'Deployment') as Deployment[];
    expect(deployments).toHaveLength(4);
    for (const { spec } of deployments)
      expect(await unknownOptions(spec?.template.spec?.containers[0]?.args ?? [])).toEqual([]);
  });
});
