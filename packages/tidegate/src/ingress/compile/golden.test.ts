/**
 * Compiles the objects in `testdata/*.in.yaml` and compares routes and problems with `*.out.yaml`. Run
 * `npx vitest run packages/tidegate/src/ingress/compile -u` to update the expected output, and review the difference.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { KubeObject } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import type { Delta, HostRoutes, RouteAction, Upstream } from '../model.ts';
import { describePolicy } from '../policy/index.ts';
import { Compiler, type Flushed, type Inputs } from './compiler.ts';

const DIRECTORY = new URL('./testdata/', import.meta.url);

const whereTo = ({
  backends,
  limits,
  policy,
  source: { namespace, name, rule, path },
}: RouteAction): string => {
  const from = rule < 0 ? 'defaultBackend' : `rules[${rule}].paths[${path}]`;
  const limited = Object.keys(limits).length === 0 ? '' : ` ${JSON.stringify(limits)}`;
  const policies = describePolicy(policy ?? {})
    .map((each) => ` (${each})`)
    .join('');
  return `${backends.map(({ upstream }) => upstream).join(', ')}${limited}${policies} by ${namespace}/${name} ${from}`;
};

const hostInWords = ({
  host,
  namespace,
  routes,
  fallback,
  redirectToHttps,
  appRoot,
  guarded,
}: HostRoutes) => ({
  host,
  namespace,
  ...(redirectToHttps && { redirectToHttps }),
  ...(appRoot && { appRoot }),
  ...(guarded && { guarded }),
  routes: routes.map(({ match, path, action }) => `${match} ${path} -> ${whereTo(action)}`),
  ...(fallback && { fallback: whereTo(fallback) }),
});

const upstreamInWords = ({ id, protocol, balance, endpoints, problem }: Upstream) => ({
  id,
  how: `${protocol} ${balance}`,
  endpoints: endpoints.map(({ address, port }) => `${address} ${port}`),
  ...(problem && { problem }),
});

const inWords = ({ hosts, upstreams }: Delta, { outcomes }: Flushed) => ({
  hosts: hosts.set.map(hostInWords),
  upstreams: upstreams.set.map(upstreamInWords),
  outcomes: outcomes.set.map(({ problems, ...outcome }) => ({
    ...outcome,
    ...(problems.length > 0 && {
      problems: problems.map(({ reason, field, message }) => `${reason} ${field}: ${message}`),
    }),
  })),
});

describe.each(readdirSync(DIRECTORY).filter((name) => name.endsWith('.in.yaml')))('%s', (name) => {
  const documents = parseAllDocuments(readFileSync(new URL(name, DIRECTORY), 'utf8')).map(
    (document) => document.toJS() as KubeObject,
  );

  it('compiles to the recorded routes and problems', async () => {
    const compiler = new Compiler({ classNames: ['gold'], now: () => 0 });
    for (const object of documents) compiler.put(object.kind as keyof Inputs, object as never);
    const flushed = compiler.flush();
    const text = stringify(inWords(compiler.snapshot(), flushed), {
      lineWidth: 0,
      aliasDuplicateObjects: false,
    });
    const recorded = fileURLToPath(new URL(name.replace('.in.', '.out.'), DIRECTORY));
    await expect(text).toMatchFileSnapshot(recorded);
  });
});
