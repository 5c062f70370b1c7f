/** To update the files after a change, run `npx vitest run packages/tidegate/src/apps/render -u` and review the diff. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { KubeObject } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import type { EdgeApplication } from '../../api/index.ts';
import { render } from './render.ts';
import { builtInScopes } from './scopes.ts';
import { targetsOf } from './targets.ts';

const DIRECTORY = new URL('./testdata/', import.meta.url);

describe.each(readdirSync(DIRECTORY).filter((name) => name.endsWith('.in.yaml')))('%s', (name) => {
  const input = readFileSync(new URL(name, DIRECTORY), 'utf8');
  const rendering = (): string => {
    const documents = parseAllDocuments(input).map((document) => document.toJS() as KubeObject);
    const application = documents.find(
      ({ kind }) => kind === 'EdgeApplication',
    ) as unknown as EdgeApplication;
    const nodePools = documents
      .filter(({ kind }) => kind === 'NodePool')
      .map(({ metadata }) => metadata.name);
    const { targets, errors } = targetsOf(application, (pool) =>
      nodePools.includes(pool) ? 'NodePool' : 'NodeGroup',
    );
    const result = render(application, targets, builtInScopes);
    return [...result.objects, ...[...errors, ...result.errors].map((error) => ({ error }))]
      .map((document) => stringify(document, { aliasDuplicateObjects: false }))
      .join('---\n');
  };

  it('renders the recorded objects', async () => {
    const recorded = fileURLToPath(new URL(name.replace('.in.', '.out.'), DIRECTORY));
    await expect(rendering()).toMatchFileSnapshot(recorded);
  });

  it('renders the same bytes again', () => {
    expect(rendering()).toBe(rendering());
  });
});
