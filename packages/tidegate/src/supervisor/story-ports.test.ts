import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@tidegate/kube';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { portsOf, withPorts } from './story-ports.ts';

const folder = join(import.meta.dirname, '../../../../examples/story');
const story = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), 'utf8')))
  .map((document) => document.toJS() as KubeObject);

it('finds the ports of the pods of the example', () => {
  expect(portsOf(story)).toEqual([8080]);
});

it('replaces them, and leaves the ports of Services and Ingresses', () => {
  const moved = withPorts(story, new Map([[8080, 18080]]));
  expect(portsOf(moved)).toEqual([18080]);
  const text = JSON.stringify(moved);
  expect(text).toContain('"port":80,"targetPort":18080');
  expect(text).toContain('"port":{"number":80}');
  expect(withPorts(story, new Map())).toEqual(story);
});
