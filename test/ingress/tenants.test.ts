/**
 * Two tenants of a cluster, each with permissions in its own namespace only, with kubectl. One of them tries to get
 * traffic and certificates of hosts of the other, through admission and while admission is bypassed.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import type { Ingress, KubeList, KubeObject } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HostClaim, L7Router } from '../../packages/tidegate/src/api/index.ts';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import { secret } from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { Cluster, eventually } from '../support/cluster.ts';
import { Kubectl } from '../support/kubectl.ts';
import { webObjects } from './support.ts';

const DATA_PLANES = ['embedded', 'nginx'];
const OWNED = 'shop.example.com';
const BELOW = 'phish.tls.example.com';
const CHALLENGE = '/.well-known/acme-challenge/x';

let cluster: Cluster;
let shop: Kubectl;
let rival: Kubectl;

beforeAll(async () => {
  cluster = await Cluster.start('--nodes', 'a');
  const { kubectl } = cluster;
  for (const name of DATA_PLANES)
    await kubectl.apply({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name },
      spec: { controller: `tidegate.io/${name}` },
    });
  shop = await tenant('shop');
  rival = await tenant('rival');
  for (const each of [shop, rival]) await each.apply(...web);
});
afterAll(() => cluster.stop());

/** A user with all permissions in a namespace of the same name, and none elsewhere. */
async function tenant(name: string): Promise<Kubectl> {
  const { kubectl, state } = cluster;
  await kubectl.run(`create namespace ${name}`);
  await kubectl.run(`create serviceaccount tenant -n ${name}`);
  await kubectl.apply({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'tenant', namespace: name },
    rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
  });
  await kubectl.run(`create rolebinding tenant -n ${name} --role=tenant --serviceaccount=${name}:tenant`);
  const token = (await kubectl.run(`create token tenant -n ${name}`)).trim();
  const file = join(state, `kubeconfig-${name}`);
  await writeFile(file, await readFile(join(state, 'kubeconfig')));
  const own = new Kubectl(file);
  await own.run(`config set-credentials ${name} --token=${token}`);
  await own.run(`config set-context --current --user=${name} --namespace=${name}`);
  return own;
}

const web = webObjects('s1');

/** Each rule is a host, or an empty text, and a path. */
const ingress = (name: string, className: string, rules: [string, string][], secretName?: string) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name },
  spec: {
    ingressClassName: className,
    ...(secretName !== undefined && { tls: [{ hosts: rules.map(([host]) => host), secretName }] }),
    rules: rules.map(([host, path]) => ({
      ...(host !== '' && { host }),
      http: {
        paths: [{ path, pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }],
      },
    })),
  },
});

interface Answer {
  code: number | undefined;
  /** Namespace of the pod that answered. */
  from: string | undefined;
  /** Names in the certificate. */
  names: string;
}

interface Address {
  ip: string;
  port: number;
}

/** The address of the router for HTTPS. */
async function addressOf(className: string): Promise<Address> {
  const { status } = await cluster.kubectl.json<L7Router>(`get l7router ${className}`);
  const [{ ip = '', ports = [] } = {}] = status?.addresses ?? [];
  return { ip, port: ports[1]?.port ?? 0 };
}

async function ask(className: string, host: string, path: string, at?: Address): Promise<Answer> {
  const { ip, port } = at ?? (await addressOf(className));
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: ip, port, path, servername: host, headers: { host }, rejectUnauthorized: false, agent: false },
      (response) => {
        const names = (response.socket as TLSSocket).getPeerCertificate() as PeerCertificate;
        let body = '';
        response.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            code: response.statusCode,
            from: /"namespace": "([^"]*)"/.exec(body)?.[1],
            names: names.subjectaltname ?? '',
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** Waits for the answer. The router may not run yet. */
const answers = (
  className: string,
  host: string,
  path: string,
  expected: Partial<Answer>,
  at?: Address,
): Promise<unknown> =>
  eventually(`${className} ${host}${path}: ${JSON.stringify(expected)}`, async () => {
    const answer = await ask(className, host, path, at).catch(() => undefined);
    const isSame = Object.entries(expected).every(([key, value]) => answer?.[key as keyof Answer] === value);
    return isSame || undefined;
  });

/** Each host is served for its owner only, with the certificate of its owner. */
async function expectOwners(className: string, at?: Address): Promise<void> {
  expect(await ask(className, OWNED, CHALLENGE, at)).toMatchObject({ code: 404 });
  expect(await ask(className, OWNED, '/only', at)).toMatchObject({ code: 200, from: 'shop' });
  expect(await ask(className, BELOW, '/', at)).toMatchObject({
    code: 200,
    from: 'shop',
    names: `DNS:*.tls.example.com, DNS:${OWNED}`,
  });
  expect(await ask(className, `x.${BELOW}`, CHALLENGE, at)).toMatchObject({ code: 404 });
}

const claims = async (className: string): Promise<string[]> =>
  (await cluster.kubectl.json<KubeList<HostClaim>>('get hostclaims')).items
    .filter(({ spec }) => spec.ingressClassName === className)
    .map(({ spec }) => `${spec.host} ${spec.namespace}`)
    .sort();

describe.each(DATA_PLANES)('a tenant of the class %s', (className) => {
  const owner = ingress(
    `web-${className}`,
    className,
    [
      [OWNED, '/only'],
      ['*.tls.example.com', '/'],
    ],
    'cert',
  );

  test('gets its hosts, and their claims are visible', async () => {
    const pair = new TestAuthority().issue(['*.tls.example.com', OWNED]);
    await shop.apply(secret('cert', pair), owner);
    await answers(className, OWNED, '/only', { code: 200, from: 'shop' });
    await answers(className, BELOW, '/', { code: 200, from: 'shop' });
    expect(await claims(className)).toEqual(['*.tls.example.com shop', `${OWNED} shop`]);
    expect(await cluster.kubectl.run('get hostclaims')).toMatch(/HOST +CLASS +NAMESPACE +SINCE/);
  });

  test('cannot record claims or policies', async () => {
    await expect(rival.run('get hostclaims')).rejects.toThrow(/forbidden/);
    const of = (kind: string, spec: object) => ({
      apiVersion: 'networking.tidegate.io/v1alpha1',
      kind,
      metadata: { name: className },
      spec,
    });
    const since = '2020-01-01T00:00:00Z';
    const forged = { ingressClassName: className, host: OWNED, namespace: 'rival', since };
    await expect(rival.apply(of('HostClaim', forged))).rejects.toThrow(/forbidden/);
    await expect(rival.apply(of('IngressClassPolicy', { allow: [] }))).rejects.toThrow(/forbidden/);
    await expect(rival.run('delete hostclaims --all')).rejects.toThrow(/forbidden/);
  });

  test('is refused hosts of the other, with the reason', async () => {
    await expect(rival.apply(ingress('steal', className, [[OWNED, '/']]))).rejects.toThrow(
      new RegExp(`spec.rules\\[0\\].host.*Host ${OWNED} belongs to namespace shop since`),
    );
    await expect(rival.apply(ingress('phish', className, [[BELOW, '/']]))).rejects.toThrow(
      `Host ${BELOW} is below *.tls.example.com, which belongs to namespace shop since`,
    );
  });
});

/** Writes while admission is not configured. The manager configures it again, at any moment: then this tries again. */
const whileBypassed = (write: () => Promise<unknown>): Promise<unknown> =>
  eventually('the objects are written without admission', async () => {
    await cluster.kubectl.run('delete validatingwebhookconfiguration tidegate --ignore-not-found');
    return await write();
  });

describe.each(DATA_PLANES)('a tenant of the class %s that bypasses admission', (className) => {
  test('gets nothing of the hosts of the other', async () => {
    await whileBypassed(() =>
      rival.apply(
        ingress(`steal-${className}`, className, [
          [OWNED, '/'],
          [OWNED, CHALLENGE],
        ]),
        ingress(`phish-${className}`, className, [[BELOW, '/']], 'own'),
        ingress(`all-${className}`, className, [['', '/.well-known']]),
        secret('own', new TestAuthority().issue([BELOW, OWNED]), { namespace: 'rival' }),
      ),
    );
    await answers(className, 'free.example.org', CHALLENGE, { code: 200, from: 'rival' });
    await expectOwners(className);
    expect(await claims(className)).toEqual(['* rival', '*.tls.example.com shop', `${OWNED} shop`]);
  });

  test('gets nothing of them while the other replaces its Ingress', async () => {
    const name = `web-${className}`;
    const { spec, ...rest } = await shop.json<Ingress>(`get ingress ${name}`);
    await shop.run(`delete ingress ${name}`);
    const claim = (host: string) =>
      eventually(`${host} is reserved`, async () => {
        const { items } = await cluster.kubectl.json<KubeList<HostClaim>>('get hostclaims');
        return items.find(
          (each) =>
            each.spec.ingressClassName === className &&
            each.spec.host === host &&
            each.spec.reservedUntil !== undefined,
        );
      });
    const { metadata } = await claim(OWNED);
    await claim('*.tls.example.com');
    expect(await claims(className)).toEqual(['* rival', '*.tls.example.com shop', `${OWNED} shop`]);
    expect(await cluster.kubectl.run(`get hostclaim ${metadata.name}`)).toMatch(
      /RESERVED-UNTIL\n.* shop .*Z\n/,
    );
    for (const [host, path] of [
      [OWNED, '/'],
      [OWNED, CHALLENGE],
      [BELOW, '/'],
    ] as const)
      await answers(className, host, path, { code: 404 });
    await shop.apply({ ...rest, metadata: { name }, spec } as KubeObject);
    await answers(className, OWNED, '/only', { code: 200, from: 'shop' });
    await answers(className, BELOW, '/', { code: 200, from: 'shop' });
    await expectOwners(className);
  });

  test('gets nothing of them from a router that restarts at a site that is cut off', async () => {
    const at = await addressOf(className);
    await cluster.tidegate('cut', 'a');
    await cluster.tidegate('kill', 'router', className);
    await answers(className, 'free.example.org', CHALLENGE, { code: 200, from: 'rival' }, at);
    await expectOwners(className, at);
    await cluster.tidegate('mend', 'a');
    await rival.run(`delete ingress steal-${className} phish-${className} all-${className}`);
  });
});
