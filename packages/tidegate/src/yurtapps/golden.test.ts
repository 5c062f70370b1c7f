import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import type { EdgeApplication, NodePool, YurtAppOverrider } from '../api/index.ts';
import { builtInScopes, render, targetsOf } from '../apps/index.ts';
import { applicationNameOf } from './application.ts';
import type { YurtApp } from './template.ts';
import { translate } from './translate.ts';

const FOLDER = join(import.meta.dirname, 'testdata');
const inputs = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.in.yaml'))
  .map((name) => name.replace('.in.yaml', ''));

/** `vitest -u` writes the output files. */
describe('objects of OpenYurt', () => {
  it.each(inputs)('%s', async (name) => {
    const objects = parseAllDocuments(readFileSync(join(FOLDER, `${name}.in.yaml`), 'utf8')).map(
      (document) => document.toJS() as YurtApp | NodePool | YurtAppOverrider,
    );
    const pools = objects.filter(({ kind }) => kind === 'NodePool') as NodePool[];
    const app = objects.find(({ kind }) => kind === 'YurtAppSet' || kind === 'YurtAppDaemon') as YurtApp;
    const overrider = objects.find(({ kind }) => kind === 'YurtAppOverrider') as YurtAppOverrider | undefined;
    const { spec, errors } = translate(app, overrider, pools);
    const application: EdgeApplication = {
      apiVersion: 'apps.kubeedge.io/v1alpha1',
      kind: 'EdgeApplication',
      metadata: { name: applicationNameOf(app), namespace: 'shop' },
      spec: spec ?? { workloadScope: {} },
    };
    const { targets } = targetsOf(application, (_, kind) => kind ?? 'NodePool');
    const rendered = render(application, targets, builtInScopes);
    const output = [
      ...errors,
      ...rendered.errors,
      ...(spec === undefined ? [] : [application]),
      ...rendered.objects.map(({ object }) => object),
    ];
    const text = output.map((one) => stringify(one, { aliasDuplicateObjects: false })).join('---\n');
    await expect(text).toMatchFileSnapshot(join(FOLDER, `${name}.out.yaml`));
  });
});
