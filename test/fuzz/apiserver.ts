/**
 * Hostile requests against the embedded API server: every answer is a response of HTTP that is not 500, and the server
 * lives on. The other targets forward requests and are compared with a reference; this one answers them itself.
 */
import { startHostileServer } from '../support/hostile-server.ts';
import { Chance } from '../support/random.ts';
import type { FuzzOptions, FuzzResult } from './fuzz.ts';

const NAMES = [
  'constructor',
  '__proto__',
  'toString',
  'a',
  'default',
  '',
  '..',
  'x'.repeat(300),
  '%',
  '\u{1f600}',
];
const COLLECTIONS = [
  '/api/v1/namespaces/default/configmaps',
  '/api/v1/namespaces/default/secrets',
  '/api/v1/namespaces/default/pods',
  '/api/v1/namespaces/default/services',
  '/apis/apps/v1/namespaces/default/deployments',
  '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  '/api/v1/nodes',
];
const SUBRESOURCES = [
  '',
  '',
  '',
  '/status',
  '/scale',
  '/token',
  '/eviction',
  '/finalize',
  '/constructor',
  '/log',
];
const QUERIES = [
  '',
  '',
  '?limit=1',
  '?fieldValidation=Strict',
  '?dryRun=All',
  '?fieldManager=fuzz&force=true',
  '?labelSelector=constructor',
  '?fieldSelector=metadata.name%3Da',
  '?resourceVersion=__proto__',
  '?continue=%7B%7D',
  '?timeoutSeconds=-1',
];
const TYPES = [
  'application/json',
  'application/yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/vnd.kubernetes.protobuf',
];
const WORDS = [
  'apiVersion',
  'kind',
  'metadata',
  'name',
  'labels',
  'annotations',
  'ownerReferences',
  'managedFields',
  'finalizers',
  'spec',
  'data',
  'stringData',
  'rules',
  'template',
  'containers',
  'ports',
  'selector',
  'schema',
  'properties',
  'versions',
  '$patch',
  '$retainKeys',
  '$setElementOrder/ports',
  'op',
  'path',
  'from',
  'value',
  'constructor',
  '__proto__',
];

/** Sends random requests. Throws at the first answer that a server must not give. */
export async function fuzzApiServer({ seed, more }: FuzzOptions): Promise<FuzzResult> {
  const chance = new Chance(seed);
  const server = await startHostileServer();
  const result = { requests: 0, plain: 0 };
  try {
    while (more()) {
      const method = chance.of(['GET', 'POST', 'PUT', 'PATCH', 'PATCH', 'DELETE']);
      const path = drawPath(chance, method);
      const body = method === 'GET' ? undefined : drawBody(chance);
      const type = chance.of(TYPES);
      result.requests++;
      const answer = await server.send(method, path, body, type).catch((error: Error) => {
        throw new Error(`seed ${seed}: ${method} ${path} ${type} ${body?.slice(0, 2000)}: ${error.message}`);
      });
      if (answer.code < 300) result.plain++;
      if (isBroken(answer.code, answer.text))
        throw new Error(
          `seed ${seed}: ${method} ${path} ${type} ${body?.slice(0, 2000)}: ${answer.code} ${answer.text.slice(0, 500)}`,
        );
    }
    const health = await server.send('GET', '/readyz');
    if (health.code !== 200) throw new Error(`the server is not ready after the run: ${health.text}`);
  } finally {
    await server.stop();
  }
  return result;
}

/** kube-apiserver answers some malformed patches with a 500 without a reason. An unexpected error has a reason. */
const isBroken = (code: number, text: string): boolean =>
  code === 0 || (code >= 500 && /"reason":\s*"InternalError"|reason: InternalError/.test(text));

function drawPath(chance: Chance, method: string): string {
  const named = method === 'PUT' || method === 'PATCH' || chance.percent(50);
  const name = named ? `/${encodeURIComponent(chance.of(NAMES))}${chance.of(SUBRESOURCES)}` : '';
  return `${chance.of(COLLECTIONS)}${name}${chance.of(QUERIES)}`;
}

function drawBody(chance: Chance): string {
  const text = chance.percent(15)
    ? JSON.stringify(Array.from({ length: chance.integer(30) }, () => drawOperation(chance)))
    : JSON.stringify(drawMap(chance, 5));
  if (chance.percent(80)) return text;
  // Cut, doubled or deep texts.
  return chance.of([
    text.slice(0, chance.integer(text.length)),
    text + text,
    `${'['.repeat(chance.integer(3000))}${text}`,
    `a: &a ${text}\nb: [${'*a, '.repeat(chance.integer(200))}]`,
    String.fromCharCode(...Array.from({ length: 20 }, () => chance.integer(256))),
  ]);
}

const POINTERS = [
  '',
  '/',
  '/data',
  '/data/a',
  '/metadata/labels/constructor',
  '/spec',
  '/__proto__/x',
  '/data/-',
  '/kind',
];

const drawOperation = (chance: Chance): unknown => ({
  op: chance.of(['add', 'remove', 'replace', 'move', 'copy', 'test', 'constructor']),
  path: chance.of(POINTERS),
  from: chance.of(POINTERS),
  value: drawValue(chance, 2),
});

function drawMap(chance: Chance, depth: number): Record<string, unknown> {
  const keys = Array.from({ length: chance.integer(6) }, () => chance.of(WORDS));
  const drawn = Object.fromEntries(keys.map((key) => [key, drawValue(chance, depth)]));
  return chance.percent(60) ? { ...drawn, metadata: { name: 'a', ...drawMapBelow(chance, depth) } } : drawn;
}

const drawMapBelow = (chance: Chance, depth: number): Record<string, unknown> =>
  depth > 0 && chance.percent(40) ? drawMap(chance, depth - 2) : {};

function drawValue(chance: Chance, depth: number): unknown {
  if (depth <= 0 || chance.percent(45))
    return chance.of<unknown>([
      null,
      true,
      0,
      -1,
      1e300,
      '',
      'a',
      '__proto__',
      'v1',
      'ConfigMap',
      '2026-01-01',
      '10Gi',
    ]);
  if (chance.percent(30))
    return Array.from({ length: chance.integer(4) }, () => drawValue(chance, depth - 1));
  return drawMap(chance, depth - 1);
}
