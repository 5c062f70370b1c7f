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
import type { BearerIdentity, Identity } from './identity.ts';
import { ISSUER, otherSpelling, TokenAuthority } from './testing/authority.ts';

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
  let ended: string[];

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
    ended = [];
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
      peerOf: async () => 'local',
      nodeName: 'n1',
      client,
      memory,
      online: () => online,
      lastContact: () => lastContact,
      onEnded: (key) => void ended.push(key),
      podIsGone: async ({ pod }) => pod?.uid === 'gone',
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
  /** Whether the hub shows stored data to a client with this token. */
  const prove = async (token: string): Promise<void> =>
    authenticator.prove(await withToken(token), new AbortController().signal);
  const suspect = async (token: string): Promise<void> =>
    authenticator.suspect((await withToken(token)) as BearerIdentity);
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
    expect(await withToken(token)).toMatchObject(expected);
    cut();
    await restart();
    expect(await withToken(token)).toMatchObject(expected);
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

  it('rejects another spelling of a token before it asks for keys or a review', async () => {
    const asked: string[] = [];
    const { intercept } = server;
    server.intercept = (request, response) => {
      asked.push(`${request.url}`);
      return intercept?.(request, response) ?? false;
    };
    const token = authority.issue({ expires: clock.now() + HOUR });
    for (const spelling of [`${token}=`, otherSpelling(token)])
      await expect(withToken(spelling)).rejects.toMatchObject(refused);
    expect(asked).toEqual([]);
    expect((await withToken(token)).key).toBe('sa:shop:web:uid-of-web');
    expect(asked).not.toEqual([]);
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

  it('accepts a token for another audience only if a review shows that the API server has that audience', async () => {
    const token = authority.issue({ aud: ['vault'], expires: clock.now() + HOUR });
    await expect(withToken(token)).rejects.toMatchObject(refused);
    cut();
    await expect(withToken(token)).rejects.toMatchObject(refused);
    online = true;
    authority.audiences = ['vault', ISSUER];
    expect((await withToken(token)).key).toBe('sa:shop:web:uid-of-web');
    const another = authority.issue({ aud: 'vault', expires: clock.now() + HOUR });
    const both = authority.issue({ aud: ['elsewhere', 'vault'], expires: clock.now() + HOUR });
    const never = authority.issue({ aud: ['elsewhere'], expires: clock.now() + HOUR });
    cut();
    await restart();
    for (const good of [token, another, both])
      expect((await withToken(good)).key).toBe('sa:shop:web:uid-of-web');
    await expect(withToken(never)).rejects.toMatchObject(refused);
  });

  it('does not trust audiences and tokens that earlier versions have stored', async () => {
    const token = authority.issue({ aud: ['vault'], expires: clock.now() + HOUR });
    await expect(withToken(token)).rejects.toMatchObject(refused);
    const stored = JSON.parse((await memory.get('signing-keys'))!.toString());
    memory.put('signing-keys', Buffer.from(JSON.stringify({ ...stored, audiences: ['vault'] })));
    memory.put('tokens/answer/abc', Buffer.from('{"accepted":true,"hour":1}'));
    cut();
    await restart();
    await expect(withToken(token)).rejects.toMatchObject(refused);
    expect(memory.keys('tokens/answer/')).toEqual([]);
  });

  it('attributes identities to tenants: accounts of a namespace, and tokens of a user, belong together', async () => {
    const key = async (token: string): Promise<string> => (await withToken(token)).key;
    const tenant = async (token: string): Promise<string> => authenticator.holderOf(await key(token)).tenant;
    const accounts = ['web', 'db'].map((name) => authority.issue({ name, expires: clock.now() + HOUR }));
    expect(await tenant(accounts[0]!)).toBe(await tenant(accounts[1]!));
    for (const token of ['opaque-1', 'opaque-2']) {
      authority.accepted.add(token);
      await prove(token);
    }
    const unknown = await tenant('opaque-3');
    expect(await tenant('opaque-1')).not.toBe(unknown);
    await restart();
    expect(await tenant('opaque-1')).toBe(await tenant('opaque-2'));
    expect(await tenant('opaque-1')).not.toBe(await tenant(accounts[0]!));
    expect(authenticator.holderOf(await key('opaque-1')).identity).toBe(await key('opaque-1'));
  });

  it('accepts an opaque token offline only if the API server has accepted exactly this token', async () => {
    for (const token of ['opaque-1', 'opaque-2']) authority.accepted.add(token);
    expect((await withToken('opaque-1')).key).toMatch(/^token:/);
    await prove('opaque-1');
    await prove('opaque-2');
    authority.accepted.delete('opaque-2');
    await suspect('opaque-2');
    expect(ended).toEqual([(await withToken('opaque-2')).key]);
    await expect(prove('opaque-2')).rejects.toMatchObject(refused);
    await expect(prove('opaque-3')).rejects.toMatchObject(refused);
    cut();
    await restart();
    expect((await withToken('opaque-1')).kind).toBe('bearer');
    for (const token of ['opaque-2', 'opaque-3', 'opaque-1=', 'opaque-1.'])
      await expect(withToken(token)).rejects.toMatchObject(refused);
  });

  it('shows stored data online for a minute after a review, and asks once for concurrent requests', async () => {
    const token = authority.issue({ expires: clock.now() + HOUR });
    await withToken(token);
    const before = authority.reviews;
    await clock.advance(60_000);
    await Promise.all(Array.from({ length: 10 }, () => prove(token)));
    await clock.advance(59_000);
    await prove(token);
    expect(authority.reviews - before).toBe(1);
    authority.rejected.add(token);
    await prove(token);
    await clock.advance(1_000);
    await expect(prove(token)).rejects.toMatchObject(refused);
    const other = authority.issue({ expires: clock.now() + HOUR });
    await prove(other);
  });

  it('rejects a token offline that the API server rejected, in every spelling, until it expires', async () => {
    const stop = new AbortController();
    const token = authority.issue({ expires: clock.now() + 100 * HOUR });
    await prove(token);
    expect((await withToken(withOtherSignature(token))).key).toBe('sa:shop:web:uid-of-web');
    authority.rejected.add(token);
    await suspect(token);
    expect((await withToken(token)).kind).toBe('bearer');
    await expect(prove(token)).rejects.toMatchObject(refused);
    const running = authenticator.run(stop.signal);
    await clock.advance(30 * HOUR);
    stop.abort();
    await running;
    cut();
    await restart();
    const [head, claims, signature] = token.split('.');
    for (const spelling of [
      token,
      withOtherSignature(token),
      `${token}=`,
      `${head}=.${claims}.${signature}`,
      `${head}.${claims}==.${signature}`,
    ])
      await expect(withToken(spelling)).rejects.toMatchObject(refused);
    online = true;
    authority.rejected.clear();
    await prove(token);
    cut();
    expect((await withToken(token)).kind).toBe('bearer');
  });

  it('rejects a token offline whose pod has left the node', async () => {
    const issue = (uid: string): string =>
      authority.issue({ expires: clock.now() + HOUR, pod: { name: 'p', uid } });
    const [here, gone] = [issue('here'), issue('gone')];
    await prove(here);
    await prove(gone);
    cut();
    await withToken(here);
    await expect(withToken(gone)).rejects.toMatchObject(refused);
  });

  it('applies the rule for offline clients when the API server cannot answer a review', async () => {
    const token = authority.issue({ expires: clock.now() + HOUR });
    authority.accepted.add('opaque-1');
    await prove(token);
    await prove('opaque-1');
    await clock.advance(60_000);
    const answer = server.intercept;
    for (const code of [500, 429]) {
      server.intercept = (request, response) => {
        if (!request.url.pathname.endsWith('/tokenreviews')) return answer?.(request, response) ?? false;
        return answerJson(response, { kind: 'Status', code, message: 'busy' }, code);
      };
      await prove(token);
      await prove('opaque-1');
      await expect(prove('opaque-2')).rejects.toMatchObject(refused);
    }
    server.intercept = (_, response) =>
      answerJson(response, { kind: 'Status', code: 403, message: 'no' }, 403);
    await expect(prove('opaque-1')).rejects.toMatchObject({
      status: { code: 503, message: expect.stringMatching(/allow the node to create them/) },
    });
  });

  it('does not accept an answer that is not a review', async () => {
    server.intercept = (_, response) => answerJson(response, { status: { authenticated: true } }, 200);
    await expect(prove('opaque-1')).rejects.toMatchObject(refused);
    server.intercept = (_, response) =>
      answerJson(response, { kind: 'TokenReview', status: { authenticated: true, user: {} } }, 201);
    await expect(prove('opaque-1')).rejects.toMatchObject(refused);
  });

  it('does not accept a token that the API server authenticates as another user', async () => {
    const token = authority.issue({ expires: clock.now() + 2 * HOUR });
    await prove(token);
    await clock.advance(HOUR);
    authority.accepted.add(token);
    await expect(prove(token)).rejects.toMatchObject(refused);
  });

  it('remembers an accepted token for 24 online hours, however often the hub restarts', async () => {
    authority.accepted.add('opaque');
    await prove('opaque');
    /** Runs for a time, and is stopped. */
    const runFor = async (ms: number): Promise<void> => {
      const stop = new AbortController();
      const running = authenticator.run(stop.signal);
      await clock.advance(ms);
      stop.abort();
      await running;
      await restart();
    };
    cut();
    await runFor(100 * HOUR);
    expect((await withToken('opaque')).kind).toBe('bearer');
    online = true;
    for (let i = 0; i < 60; i++) await runFor(HOUR / 2);
    cut();
    await expect(withToken('opaque')).rejects.toMatchObject(refused);
  });

  it('stores neither invented tokens nor any token in plain text', async () => {
    const token = authority.issue({ expires: clock.now() + HOUR });
    await withToken(token);
    authority.accepted.add('opaque-secret');
    await prove('opaque-secret');
    await prove(token);
    const before = memory.keys('tokens/decision/').length;
    for (let i = 0; i < 100; i++) await suspect(`junk-${i}`);
    for (let i = 0; i < 100; i++) await expect(prove(`junk-${i}`)).rejects.toMatchObject(refused);
    expect(memory.keys('tokens/decision/').length).toBe(before);
    await memory.flush();
    const text = await readFile(join(directory, 'identity'), 'latin1');
    for (const secret of ['opaque-secret', 'junk-', token.split('.')[2]!]) expect(text).not.toContain(secret);
  });
});
