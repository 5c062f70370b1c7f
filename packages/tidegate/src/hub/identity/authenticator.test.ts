import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import { KubeClient, silentLogger } from '@tidegate/kube';
import { answerJson, FakeServer, VirtualClock } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Authenticator } from './authenticator.ts';
import type { Identity } from './identity.ts';
import { ISSUER, TokenAuthority } from './testing/authority.ts';

const HOUR = 3_600_000;
/** The order of the curve P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** Returns the same ES256 token with its other valid signature: (r, order - s) instead of (r, s). */
function withOtherSignature(token: string): string {
  const [head, claims, signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const s = ORDER - BigInt(`0x${bytes.subarray(32).toString('hex')}`);
  bytes.write(s.toString(16).padStart(64, '0'), 32, 'hex');
  return [head, claims, bytes.toString('base64url')].join('.');
}

describe('the authenticator', () => {
  let directory: string;
  let memory: DurableMap;
  let server: FakeServer;
  let client: KubeClient;
  let clock: VirtualClock;
  let authority: TokenAuthority;
  let online: boolean;
  let lastContact: number | undefined;
  let authenticator: Authenticator;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tidegate-hub-'));
    memory = await DurableMap.open(join(directory, 'identity'));
    authority = new TokenAuthority();
    server = new FakeServer();
    server.intercept = (request, response) => {
      const document = authority.answer(request);
      return document !== undefined && answerJson(response, document);
    };
    client = new KubeClient(await server.start());
    clock = new VirtualClock();
    online = true;
    lastContact = undefined;
    authenticator = await open();
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
    await memory.close();
    await rm(directory, { recursive: true });
  });

  const open = (): Promise<Authenticator> =>
    Authenticator.open({
      nodeName: 'n1',
      client,
      memory,
      online: () => online,
      lastContact: () => lastContact,
      clock,
      log: silentLogger,
    });
  /** Restarts from what is on disk, as after a crash. */
  const restart = async (): Promise<void> => {
    await memory.close();
    memory = await DurableMap.open(join(directory, 'identity'));
    authenticator = await open();
  };
  const cut = (): void => {
    online = false;
    lastContact = clock.now();
  };
  const by = (headers: Record<string, string>, node = false): Promise<Identity> => {
    const request = new IncomingMessage(new Socket());
    Object.assign(request.headers, headers);
    return authenticator.authenticate(request, { node });
  };
  const withToken = (token: string): Promise<Identity> => by({ authorization: `Bearer ${token}` });
  const refused = { status: { code: 401, reason: 'Unauthorized' } };

  it('treats a client without credentials as anonymous, whatever its User-Agent', async () => {
    for (const agent of ['kubelet/v1.36.4', 'kube-proxy/v1.36.4', 'curl/8'])
      expect(await by({ 'user-agent': agent })).toEqual({ kind: 'anonymous', key: 'anonymous' });
    expect((await by({ authorization: 'Basic YTpi' })).kind).toBe('anonymous');
    cut();
    await expect(by({ 'user-agent': 'kubelet/v1.36.4' })).rejects.toMatchObject(refused);
  });

  it('authenticates the node by the unix socket, unless the request has a token', async () => {
    expect(await by({}, true)).toEqual({ kind: 'node', key: 'node' });
    const token = authority.issue({ expires: clock.now() + HOUR });
    expect((await by({ authorization: `Bearer ${token}` }, true)).key).toBe('sa:shop:web:uid-of-web');
    cut();
    expect((await by({}, true)).kind).toBe('node');
  });

  it('verifies service account tokens with the keys of the cluster, also offline after a restart', async () => {
    const token = authority.issue({ expires: clock.now() + HOUR });
    const expected = { kind: 'bearer', key: 'sa:shop:web:uid-of-web', token };
    expect(await withToken(token)).toEqual(expected);
    cut();
    await restart();
    expect(await withToken(token)).toEqual(expected);
    expect((await withToken(authority.issue({ expires: clock.now() + HOUR }))).key).toBe(expected.key);
  });

  it('rejects a changed token, and does not trust tokens of other signers', async () => {
    const token = authority.issue({ expires: clock.now() + HOUR });
    await withToken(token);
    const [head, claims = '', signature] = token.split('.');
    const changed = JSON.parse(Buffer.from(claims, 'base64url').toString());
    changed['kubernetes.io'].serviceaccount.name = 'admin';
    const forged = `${head}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${signature}`;
    await expect(withToken(forged)).rejects.toMatchObject(refused);
    const stranger = new TokenAuthority().issue({ expires: clock.now() + HOUR, name: 'admin' });
    expect((await withToken(stranger)).key).toMatch(/^token:[0-9a-f]{64}$/);
    cut();
    await expect(withToken(stranger)).rejects.toMatchObject(refused);
  });

  it('refreshes the keys for a token with an unknown key, but not for each of many', async () => {
    await withToken(authority.issue({ expires: clock.now() + HOUR }));
    authority.rotate();
    const token = authority.issue({ expires: clock.now() + HOUR });
    expect((await withToken(token)).key).toMatch(/^token:/);
    await clock.advance(10_000);
    expect((await withToken(token)).key).toBe('sa:shop:web:uid-of-web');
    const before = server.requests.length;
    await clock.advance(10_000);
    for (let i = 0; i < 20; i++) {
      const stranger = new TokenAuthority();
      await withToken(stranger.issue({ expires: clock.now() + HOUR }));
    }
    expect(server.requests.length - before).toBe(2);
  });

  it('refreshes the keys every hour', async () => {
    const stop = new AbortController();
    const running = authenticator.run(stop.signal);
    const settled = async (count: number): Promise<void> => {
      while (server.requests.length < count) await new Promise((resolve) => setImmediate(resolve));
    };
    await settled(2);
    while (memory.keys('signing-keys').length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(HOUR);
    await settled(4);
    stop.abort();
    await running;
    expect(clock.pending).toBe(0);
  });

  it('accepts an expired token offline only if it was valid at the last contact', async () => {
    const soon = authority.issue({ expires: clock.now() + HOUR });
    const later = authority.issue({ expires: clock.now() + 3 * HOUR });
    await withToken(soon);
    await clock.advance(2 * HOUR);
    await expect(withToken(soon)).rejects.toMatchObject(refused);
    cut();
    await clock.advance(10 * HOUR);
    await restart();
    await expect(withToken(soon)).rejects.toMatchObject(refused);
    expect((await withToken(later)).key).toBe('sa:shop:web:uid-of-web');
    online = true;
    await expect(withToken(later)).rejects.toMatchObject(refused);
  });

  it('rejects a token that is not valid yet; a clock that was reset cannot be before the last contact', async () => {
    const token = authority.issue({ notBefore: clock.now(), expires: clock.now() + HOUR });
    const tomorrow = authority.issue({ notBefore: clock.now() + HOUR, expires: clock.now() + 2 * HOUR });
    await withToken(token);
    await expect(withToken(tomorrow)).rejects.toMatchObject(refused);
    cut();
    clock = new VirtualClock(0);
    await restart();
    expect((await withToken(token)).kind).toBe('bearer');
  });

  it('accepts a token for another audience only if the API server has accepted that audience', async () => {
    const token = authority.issue({ aud: ['vault'], expires: clock.now() + HOUR });
    expect((await withToken(token)).key).toMatch(/^token:/);
    cut();
    await expect(withToken(token)).rejects.toMatchObject(refused);
    online = true;
    await authenticator.accepted(token);
    const another = authority.issue({ aud: 'vault', expires: clock.now() + HOUR });
    const both = authority.issue({ aud: ['elsewhere', ISSUER], expires: clock.now() + HOUR });
    cut();
    await restart();
    for (const good of [token, another, both])
      expect((await withToken(good)).key).toBe('sa:shop:web:uid-of-web');
  });

  it('accepts an opaque token offline only if the API server has accepted exactly this token', async () => {
    expect((await withToken('opaque-1')).key).toMatch(/^token:/);
    await authenticator.accepted('opaque-1');
    await authenticator.accepted('opaque-2');
    await authenticator.rejected('opaque-2');
    cut();
    await restart();
    expect((await withToken('opaque-1')).kind).toBe('bearer');
    await expect(withToken('opaque-2')).rejects.toMatchObject(refused);
    await expect(withToken('opaque-3')).rejects.toMatchObject(refused);
  });

  it('rejects a token offline that the API server rejected, with any valid signature', async () => {
    const token = authority.issue({ expires: clock.now() + HOUR });
    await withToken(token);
    expect((await withToken(withOtherSignature(token))).key).toBe('sa:shop:web:uid-of-web');
    await authenticator.rejected(token);
    expect((await withToken(token)).kind).toBe('bearer');
    cut();
    await restart();
    await expect(withToken(token)).rejects.toMatchObject(refused);
    await expect(withToken(withOtherSignature(token))).rejects.toMatchObject(refused);
    online = true;
    await authenticator.accepted(token);
    cut();
    expect((await withToken(token)).kind).toBe('bearer');
  });

  it('remembers an accepted token for 24 online hours', async () => {
    const stop = new AbortController();
    const running = authenticator.run(stop.signal);
    await authenticator.accepted('opaque');
    cut();
    await clock.advance(100 * HOUR);
    expect((await withToken('opaque')).kind).toBe('bearer');
    online = true;
    await clock.advance(25 * HOUR);
    cut();
    await expect(withToken('opaque')).rejects.toMatchObject(refused);
    stop.abort();
    await running;
  });

  it('stores neither invented tokens nor any token in plain text', async () => {
    const token = authority.issue({ expires: clock.now() + HOUR });
    await withToken(token);
    await authenticator.accepted('opaque-secret');
    await authenticator.accepted(token);
    for (let i = 0; i < 5_000; i++) await authenticator.rejected(`junk-${i}`);
    for (let i = 0; i < 2_500; i++) await authenticator.accepted(`good-${i}`);
    expect(memory.keys('tokens/answer/').length).toBe(2_000);
    await memory.flush();
    const text = await readFile(join(directory, 'identity'), 'latin1');
    for (const secret of ['opaque-secret', 'junk-', 'good-', token.split('.')[2]!])
      expect(text).not.toContain(secret);
  });
});
