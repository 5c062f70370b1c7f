import { randomInt } from 'node:crypto';
import { request } from 'node:https';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../../test/support/cluster.ts';
import { reservePort } from '../../../../../test/support/ports.ts';
import { TestAuthority } from '../certificates/testing/authority.ts';
import { AUTHORITY, nodeClient, podOf, sliceOf, TestNode, type TestNodeOptions } from './testing.ts';

const RANGE = `127.${randomInt(130, 250)}.${randomInt(1, 250)}`;
const ADDRESSES: Record<string, string> = { a: `${RANGE}.1`, b: `${RANGE}.2`, c: `${RANGE}.3` };
const POOL = ['a', 'b', 'c'];

let port: number;
let nodes: TestNode[];
beforeEach(async () => {
  port = await reservePort();
  nodes = [];
});
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()));
});

function start(name: string, options: Partial<TestNodeOptions> = {}): TestNode {
  const members = (): string[] => POOL.filter((other) => other !== name);
  const node = new TestNode({ name, addresses: ADDRESSES, port, members, ...options });
  nodes.push(node);
  return node;
}

const heard = (node: TestNode, other: string): Promise<true> =>
  eventually(
    `reports of ${other} arrive`,
    () => (node.group.reportsOf(other)?.reports.size ?? 0) > 0 || undefined,
  );
const sees = (node: TestNode, slice: ReturnType<typeof sliceOf>, what: string): Promise<true> =>
  eventually(`the node sees ${what}`, () => {
    expect(node.sees(slice)).toBe(what);
    return true;
  });

describe('the hubs of a pool', () => {
  const slice = sliceOf('web', 'b', '10.0.0.1');

  test('follow a node that is cut off, although they are not', async () => {
    const [a, b] = [start('a'), start('b')];
    b.pods.put(podOf('web', '10.0.0.1'));
    await heard(a, 'b');
    expect(a.sees(slice)).toBe('10.0.0.1 ready');
    b.link.set(false);
    b.report(podOf('web', '10.0.0.7', false));
    await sees(a, slice, '10.0.0.7 not ready');
    b.report(podOf('web', '10.0.0.7'));
    await sees(a, slice, '10.0.0.7 ready');
  });

  test('follow a node that is not cut off, if they are', async () => {
    const [a, b] = [start('a'), start('b')];
    b.pods.put(podOf('web', '10.0.0.1'));
    await heard(a, 'b');
    b.pods.put(podOf('web', '10.0.0.7'));
    await eventually(
      'the report arrives',
      () => a.group.reportsOf('b')?.reports.get('uid-web')?.ips[0] === '10.0.0.7',
    );
    // The API server knows it, too, and sends it to a node with a link.
    expect(a.sees(slice)).toBe('10.0.0.1 ready');
    a.link.set(false);
    expect(a.sees(slice)).toBe('10.0.0.7 ready');
    b.pods.delete('shop/web', '12');
    await sees(a, slice, 'none');
  });

  test('do not believe a node about pods of another one, nor about themselves', async () => {
    const [a, b] = [start('a'), start('b')];
    a.pods.put(podOf('web', '10.0.0.1'));
    b.pods.put(podOf('web', '10.0.0.66'), podOf('other', '10.0.0.66'));
    await heard(a, 'b');
    for (const node of [a, b]) node.link.set(false);
    expect(a.sees(sliceOf('web', 'a', '10.0.0.1'))).toBe('10.0.0.1 ready');
    expect(a.sees(sliceOf('other', 'c', '10.0.0.3'))).toBe('10.0.0.3 ready');
    expect(a.sees(sliceOf('other', 'd', '10.0.0.4'))).toBe('10.0.0.4 ready');
  });

  test('send nothing but the uid of pods that no Service selects', async () => {
    const [a, b] = [start('a'), start('b')];
    const hidden = podOf('hidden', '10.0.0.9');
    b.pods.put(podOf('web', '10.0.0.1'), { ...hidden, metadata: { ...hidden.metadata, labels: {} } });
    await heard(a, 'b');
    expect([...(a.group.reportsOf('b')?.reports ?? [])]).toEqual([
      ['uid-web', { ips: ['10.0.0.1'], ready: true, terminating: false }],
      ['uid-hidden', null],
    ]);
    a.link.set(false);
    expect(a.sees(sliceOf('hidden', 'b', '10.0.0.1'))).toBe('10.0.0.1 ready');
  });

  test('keep the last reports of a hub that has stopped, because its machine still answers', async () => {
    const [a, b] = [start('a'), start('b')];
    b.pods.put(podOf('web', '10.0.0.7'));
    await heard(a, 'b');
    a.link.set(false);
    await nodes.pop()?.close();
    await sees(a, slice, '10.0.0.7 ready');
    const again = start('b');
    again.pods.put(podOf('web', '10.0.0.8'));
    await sees(a, slice, '10.0.0.8 ready');
    expect(b).not.toBe(again);
  });

  test('end the connection of a node that leaves the pool', async () => {
    let pool = ['b'];
    const [a, b] = [start('a', { members: () => pool }), start('b')];
    a.pods.put(podOf('mine', '10.0.0.2'));
    b.pods.put(podOf('web', '10.0.0.1'));
    await heard(a, 'b');
    await heard(b, 'a');
    pool = [];
    a.group.membersChanged();
    expect(a.group.reportsOf('b')).toBeUndefined();
    expect(a.sees(slice)).toBe('10.0.0.1 ready');
    a.pods.put(podOf('mine', '10.0.0.3'));
    expect(await ask('b')).toBe(403);
  });

  /** The status that node a answers with, or the code of the error. */
  function ask(as: string | { cert?: string; key?: string }, path = '/v1/reports'): Promise<number | string> {
    const { certificate, key } =
      typeof as === 'string' ? nodeClient(as) : { certificate: as.cert, key: as.key };
    return new Promise((resolve) => {
      const outgoing = request(
        {
          ...{ host: ADDRESSES.a, port, path, ca: AUTHORITY.ca, agent: false, servername: '' },
          ...(certificate === undefined ? {} : { cert: certificate, key }),
          checkServerIdentity: () => undefined,
        },
        (response) => {
          resolve(response.statusCode ?? 0);
          response.destroy();
        },
      );
      outgoing.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      outgoing.end();
    });
  }

  test('answer only nodes of the pool', async () => {
    start('a');
    await eventually('node a listens', async () => (await ask('b')) === 200);
    expect(await ask('b', '/v1/other')).toBe(404);
    expect(await ask('d')).toBe(403);
    const pair = (commonName: string, organizations: string[], authority = AUTHORITY) => {
      const { certificate, key } = authority.issue({ commonName, organizations, usage: 'clientAuth' });
      return { cert: certificate, key };
    };
    expect(await ask(pair('system:node:b', []))).toBe(403);
    expect(await ask(pair('b', ['system:nodes']))).toBe(403);
    expect(await ask(pair('admin', ['system:masters']))).toBe(403);
    expect(await ask({})).toEqual(expect.stringMatching(/ERR_SSL|ECONNRESET/));
    const stranger = new TestAuthority('another-ca');
    expect(await ask(pair('system:node:b', ['system:nodes'], stranger))).toEqual(
      expect.stringMatching(/ERR_SSL|ECONNRESET/),
    );
  });

  test.each([
    [
      'another node',
      AUTHORITY.issue({ commonName: 'system:node:c', organizations: ['system:nodes'] }),
      /^b: the server has the identity of node c, not of node b/,
    ],
    [
      'another CA',
      new TestAuthority('other').issue({ commonName: 'system:node:b', organizations: ['system:nodes'] }),
      /^b: self-signed certificate|^b: unable to (verify|get)|^b: certificate signature failure/,
    ],
    ['a client', nodeClient('b'), /^b: unsuitable certificate purpose|^b: unsupported certificate purpose/],
    [
      'a name without the group of nodes',
      AUTHORITY.issue({ commonName: 'system:node:b' }),
      /^b: the server has the identity of no node, not of node b/,
    ],
  ])('do not believe a server with the certificate of %s', async (_what, serving, reason) => {
    const a = start('a');
    const b = start('b', { serving });
    a.pods.put(podOf('mine', '10.0.0.2'));
    b.pods.put(podOf('web', '10.0.0.66'));
    // b reads from a, so both run.
    await heard(b, 'a');
    await eventually('node a has refused the server', () => a.problems.some((text) => reason.test(text)));
    a.link.set(false);
    b.link.set(false);
    expect(a.group.reportsOf('b')?.reports.size).toBe(0);
    expect(a.sees(slice)).toBe('10.0.0.1 ready');
  });
});
