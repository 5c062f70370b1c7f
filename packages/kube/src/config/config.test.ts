import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { type ClusterConfig, ConfigError } from './cluster.ts';
import { inClusterConfig } from './in-cluster.ts';
import { type LoadOptions, loadConfig } from './load.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('configuration', () => {
  let dir: string;
  let clock: VirtualClock;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
    clock = new VirtualClock();
  });
  afterEach(() => rm(dir, { recursive: true }));

  async function file(name: string, text: string): Promise<string> {
    const path = join(dir, name);
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, text);
    return path;
  }

  /** A kubeconfig with one cluster and one user. */
  const kubeconfig = (user: string, cluster = 'server: https://one:6443'): string =>
    [
      'current-context: main',
      'contexts: [{ name: main, context: { cluster: one, user: me, namespace: ns } }]',
      `clusters: [{ name: one, cluster: { ${cluster} } }]`,
      `users: [{ name: me, user: { ${user} } }]`,
    ].join('\n');

  const load = (options: Partial<LoadOptions> = {}): Promise<ClusterConfig> =>
    loadConfig({ env: {}, clock, ...options });

  const loadText = async (text: string): Promise<ClusterConfig> => load({ path: await file('config', text) });

  it('finds the file in the home directory', async () => {
    await file('.kube/config', kubeconfig('token: secret'));
    const config = await load({ env: { HOME: dir } });
    expect(config).toMatchObject({ server: 'https://one:6443', namespace: 'ns' });
    expect(await config.credentials.current()).toMatchObject({ authorization: 'Bearer secret' });
  });

  it('merges the files of KUBECONFIG: the first one wins, and missing files are ignored', async () => {
    const one = await file('one', kubeconfig('token: first'));
    const two = await file(
      'two',
      [
        'current-context: other',
        'contexts: [{ name: other, context: { cluster: two, user: me } }]',
        'clusters: [{ name: one, cluster: { server: "https://wrong", tls-server-name: x } }, { name: two, cluster: { server: "https://two" } }]',
        'users: [{ name: me, user: { token: second, as: root } }]',
      ].join('\n'),
    );
    const env = { KUBECONFIG: ['', join(dir, 'missing'), one, two, one].join(':') };
    const main = await load({ env });
    expect(main).toMatchObject({
      server: 'https://one:6443',
      tlsServerName: undefined,
      impersonate: undefined,
    });
    const other = await load({ env, context: 'other' });
    expect(other).toMatchObject({ server: 'https://two', namespace: 'default' });
    expect(await other.credentials.current()).toMatchObject({ authorization: 'Bearer first' });
  });

  it('reads certificates from data or from files relative to the kubeconfig', async () => {
    const inline = await loadText(
      kubeconfig(
        `client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')}`,
        `server: "https://one", certificate-authority-data: ${base64('CA')}`,
      ),
    );
    expect(inline.ca).toBe('CA');
    expect(await inline.credentials.current()).toMatchObject({ cert: 'CERT', key: 'KEY' });
    await file('pki/ca.crt', 'CA2');
    await file('pki/me.crt', 'CERT2');
    await file('pki/me.key', 'KEY2');
    const files = await loadText(
      kubeconfig(
        'client-certificate: pki/me.crt, client-key: pki/me.key',
        'server: "https://one", certificate-authority: pki/ca.crt, tls-server-name: api',
      ),
    );
    expect(files).toMatchObject({ ca: 'CA2', tlsServerName: 'api' });
    expect(await files.credentials.current()).toEqual({ cert: 'CERT2', key: 'KEY2' });
  });

  it('rereads a token file after a minute, or immediately when the old token is rejected', async () => {
    const token = await file('token', 'one\n');
    const { credentials } = await loadText(kubeconfig('tokenFile: token'));
    const first = await credentials.current();
    expect(first).toEqual({ authorization: 'Bearer one' });
    await writeFile(token, 'two');
    expect(await credentials.current()).toBe(first);
    await clock.advance(60_000);
    const second = await credentials.current();
    expect(second.authorization).toBe('Bearer two');
    await clock.advance(60_000);
    expect(await credentials.current()).toBe(second);
    expect(await credentials.refresh(second)).toBe(second);
    await writeFile(token, 'three');
    expect((await credentials.refresh(second)).authorization).toBe('Bearer three');
  });

  it('supports user name and password, and impersonation', async () => {
    const config = await loadText(
      kubeconfig('username: u, password: p, as: jane, as-groups: [g], as-user-extra: { k: [v] }'),
    );
    expect(await config.credentials.current()).toMatchObject({ authorization: `Basic ${base64('u:p')}` });
    expect(config.impersonate).toEqual({ user: 'jane', uid: undefined, groups: ['g'], extra: { k: ['v'] } });
  });

  it.each([
    ['clusters: [', /config: not valid YAML/],
    ['[]', /config: expected a mapping, found a list/],
    ['contexts: []', /config: current-context is not set; choose one of: \(none\)/],
    ['current-context: x\ncontexts: [{ name: a, context: {} }]', /context "x" does not exist; there are: a/],
    ['current-context: a\ncontexts: [{ name: a, context: {} }]', /context "a": cluster is missing/],
    [
      kubeconfig('token: t', 'server: "one:6443"'),
      /cluster "one": server "one:6443" is not an http or https URL/,
    ],
    [
      kubeconfig('token: t', 'server: "https://x", certificate-authority: none.crt'),
      /cluster "one": certificate-authority: ENOENT/,
    ],
    [kubeconfig('token: 5'), /user "me": token must be a string, but is a number/],
    [kubeconfig('client-certificate-data: "%"'), /user "me": client-certificate-data is not base64/],
    [
      kubeconfig(`client-key-data: ${base64('K')}`),
      /user "me": client-certificate and client-key are needed together/,
    ],
    [kubeconfig('auth-provider: { name: gcp }'), /user "me": auth-provider is no longer supported/],
    [kubeconfig('exec: { command: x }'), /user "me": exec: apiVersion is missing/],
    [kubeconfig('exec: { command: x, apiVersion: v9 }'), /user "me": exec plugin: invalid apiVersion "v9"/],
    [kubeconfig('as-groups: [a]'), /user "me": as-uid, as-groups and as-user-extra need "as"/],
    ['clusters: [{ name: a, cluster: {} }, { name: a, cluster: {} }]', /cluster "a": the name appears twice/],
  ])('reports what is wrong with %j, and where', async (text, message) => {
    const error = await loadText(text).then(
      () => expect.unreachable(),
      (e: unknown) => e,
    );
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message.startsWith(join(dir, 'config'))).toBe(true);
  });

  it('rejects a missing configuration, and a missing file', async () => {
    await expect(load({ env: { HOME: dir } })).rejects.toThrow('no cluster is configured: set KUBECONFIG');
    await expect(load({ path: join(dir, 'missing') })).rejects.toThrow('missing: no such file');
  });

  describe('exec plugins', () => {
    const plugin = async (body: string): Promise<ClusterConfig> => {
      const script = await file('plugin.mjs', body);
      return loadText(
        kubeconfig(
          `exec: { apiVersion: client.authentication.k8s.io/v1, command: "${process.execPath}", args: ["${script}", arg], env: [{ name: FROM_CONFIG, value: yes-it-is }], interactiveMode: Never, provideClusterInfo: true, installHint: get it }`,
        ),
      );
    };
    const answer = (status: string): string =>
      `const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
       import { readFileSync, writeFileSync } from 'node:fs';
       const counter = new URL('count', import.meta.url);
       let n = 1; try { n = Number(readFileSync(counter)) + 1 } catch {}
       writeFileSync(counter, String(n));
       console.log(JSON.stringify({ apiVersion: info.apiVersion, kind: 'ExecCredential', status: ${status} }));`;

    it('receive the cluster information, and run again when their token expires or is rejected', async () => {
      const status =
        '{ token: [n, process.argv[2], process.env.FROM_CONFIG, info.spec.interactive, info.spec.cluster.server].join("|"), expirationTimestamp: "2026-01-01T00:10:00Z" }';
      const { credentials } = await plugin(answer(status));
      const [first, same] = await Promise.all([credentials.current(), credentials.current()]);
      expect(first!.authorization).toBe('Bearer 1|arg|yes-it-is|false|https://one:6443');
      expect(same).toBe(first);
      expect(await credentials.current()).toBe(first);
      const second = await credentials.refresh(first!);
      expect(second.authorization).toMatch(/^Bearer 2/);
      expect(await credentials.refresh(first!)).toBe(second);
      await clock.advance(600_000);
      expect((await credentials.current()).authorization).toMatch(/^Bearer 3/);
    });

    it.each([
      [answer('{}'), "exec plugin didn't return a token or cert/key pair"],
      [answer('{ clientKeyData: "x" }'), 'exec plugin returned only certificate or key, not both'],
      ['console.log("my-secret-token")', 'did not print an ExecCredential as JSON'],
      [
        'console.log(JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1beta1", status: { token: "x" } }))',
        'exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version client.authentication.k8s.io/v1beta1',
      ],
      ['process.exit(3)', 'failed with exit code 3'],
    ])('that fail are named in the error (%#)', async (body, message) => {
      const { credentials } = await plugin(body);
      const error = await credentials.current().then(
        () => expect.unreachable(),
        (e: unknown) => e as Error,
      );
      expect(error.message).toContain(message);
      expect(error.message).toContain('user "me"');
      expect(`${error.message}${error.stack}`).not.toContain('my-secret-token');
    });

    it('that are not installed are reported with the install hint', async () => {
      const { credentials } = await loadText(
        kubeconfig(
          'exec: { apiVersion: client.authentication.k8s.io/v1, command: ./not-there, installHint: get it here }',
        ),
      );
      await expect(credentials.current()).rejects.toThrow(
        /exec: executable .*not-there not found\n\nget it here/,
      );
    });
  });

  describe('in a pod', () => {
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };

    it('uses the service account, and rereads its token', async () => {
      const token = await file('token', 'one');
      await file('ca.crt', 'CA');
      await file('namespace', 'team-a\n');
      const config = await inClusterConfig({ env, directory: dir, clock });
      expect(config).toMatchObject({ server: 'https://[fd00::1]:443', ca: 'CA', namespace: 'team-a' });
      await writeFile(token, 'two');
      await clock.advance(60_000);
      expect(await config.credentials.current()).toEqual({ authorization: 'Bearer two' });
    });

    it('reports what is missing', async () => {
      await expect(inClusterConfig({ env, directory: dir })).rejects.toThrow(/token: ENOENT/);
      await file('token', 'one');
      await expect(inClusterConfig({ env, directory: dir })).rejects.toThrow('automountServiceAccountToken');
      await expect(inClusterConfig({ env: {} })).rejects.toThrow('not in a pod');
    });
  });
});
