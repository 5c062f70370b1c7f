/** Headers in ConfigMaps: which ConfigMaps a router reads, and what happens without them. */
import { expect, it } from 'vitest';
import { CLASS, classWithHeaders, configMap, ingress, service, slice } from '../testing/objects.ts';
import { Compiler } from './index.ts';

const PREFIX = 'nginx.ingress.kubernetes.io/';

function newCompiler(annotations: Record<string, string>): Compiler {
  const compiler = new Compiler({ classNames: [CLASS], isOurs: () => true, now: Date.now });
  compiler.put('Service', service('web', ['http:80']));
  compiler.put('EndpointSlice', slice('web', { '10.0.0.1': {} }));
  const prefixed = Object.entries(annotations).map(([name, value]) => [PREFIX + name, value]);
  compiler.put(
    'Ingress',
    ingress({ annotations: Object.fromEntries(prefixed), rules: { 'a.io/': 'web:80' } }),
  );
  return compiler;
}

const problemsIn = ({ outcomes }: ReturnType<Compiler['flush']>): string[] =>
  outcomes.set.flatMap(({ problems }) => problems.map(({ reason }) => reason));

it('reads a ConfigMap only if the class allows headers', () => {
  const compiler = newCompiler({ 'custom-headers': 'h' });
  const first = compiler.flush();
  expect(first.configMaps).toEqual({ set: [], remove: [] });
  expect(problemsIn(first)).toEqual(['InvalidAnnotation']);
  compiler.put('IngressClass', classWithHeaders('X-A'));
  const allowed = compiler.flush();
  expect(allowed.configMaps).toEqual({ set: ['shop/h'], remove: [] });
  expect(problemsIn(allowed)).toEqual(['HeadersNotFound']);
  compiler.put('IngressClass', classWithHeaders(''));
  expect(compiler.flush().configMaps).toEqual({ set: [], remove: ['shop/h'] });
});

it('follows the content of the ConfigMap, and the list of the class', () => {
  const compiler = newCompiler({ 'custom-headers': 'h' });
  compiler.put('IngressClass', classWithHeaders('X-A'));
  compiler.put('ConfigMap', configMap('h', { 'X-A': '1' }));
  const first = compiler.flush();
  expect(problemsIn(first)).toEqual([]);
  expect(first.delta?.credentials?.set).toEqual([
    { id: 'shop/h#headers=x-a', users: {}, headers: { 'X-A': '1' } },
  ]);
  compiler.put('ConfigMap', configMap('h', { 'X-A': '1', 'X-B': '2' }));
  const refused = compiler.flush();
  expect(problemsIn(refused)).toEqual(['InvalidHeaders']);
  expect(refused.delta?.credentials).toEqual({ set: [], remove: ['shop/h#headers=x-a'] });
  compiler.put('IngressClass', classWithHeaders('X-A,X-B'));
  const wider = compiler.flush();
  expect(problemsIn(wider)).toEqual([]);
  expect(wider.delta?.credentials?.set).toMatchObject([{ headers: { 'X-A': '1', 'X-B': '2' } }]);
  compiler.remove('ConfigMap', 'shop/h');
  expect(compiler.flush().delta?.credentials?.remove).toEqual(['shop/h#headers=x-a,x-b']);
});

it('does not confuse a Secret and a ConfigMap with the same name', () => {
  const compiler = newCompiler({
    'auth-type': 'basic',
    'auth-secret': 'same',
    'auth-url': 'http://auth.example.com/',
    'auth-proxy-set-headers': 'same',
  });
  const { secrets, configMaps } = compiler.flush();
  expect([secrets.set, configMaps.set]).toEqual([['shop/same'], ['shop/same']]);
  compiler.put('ConfigMap', configMap('same', { 'X-A': '1' }));
  expect(problemsIn(compiler.flush())).toEqual(['UsersNotFound']);
});
