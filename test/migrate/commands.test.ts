/** `tidegate migrate` as a user runs it: the report of the example, and the comparison of two servers. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLOSED_PORTS } from '../support/ports.ts';
import { repositoryFile } from '../support/repository.ts';
import { Tidegate } from '../support/tidegate.ts';

const EXAMPLE = repositoryFile('examples/from-ingress-nginx.yaml');

async function migrate(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const run = new Tidegate(['migrate', ...args]);
  const { code } = await run.exited;
  return { code, stdout: run.stdout, stderr: run.stderr };
}

describe('tidegate migrate ingress-nginx', () => {
  it('names what is refused, and ends with the status 2', async () => {
    const { code, stdout, stderr } = await migrate('ingress-nginx', '-f', EXAMPLE);
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(stdout).toContain('2 honored, 1 changed, 1 refused');
    expect(stdout).toMatch(/^ {2}REFUSED docs\/admin$/m);
    expect(stdout).toContain('http://docs.example.com/guides: redirect 301 -> status 404');
  });

  it('writes JSON, and a page without scripts', async () => {
    const page = join(await mkdtemp(join(tmpdir(), 'tidegate-migrate-')), 'report.html');
    const { code, stdout } = await migrate('ingress-nginx', '-f', EXAMPLE, '-o', 'json', '--html', page);
    expect(code).toBe(2);
    expect(JSON.parse(stdout).counts).toMatchObject({ ingresses: 4, honored: 2, changed: 1, refused: 1 });
    const html = await readFile(page, 'utf8');
    expect(html).toContain('docs/admin');
    expect(html).toContain(`content="default-src 'none'`);
    expect(html).not.toContain('<script');
  });

  it('reports in one sentence that there is nothing to migrate', async () => {
    const { code, stdout, stderr } = await migrate(
      'ingress-nginx',
      ...['-f', EXAMPLE, '--controller', 'example.com/other'],
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^tidegate: no Ingress of ingress-nginx found \(controller example\.com\/other\)/);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('tidegate migrate verify', () => {
  const HOST = 'shop.example.com';
  const ingress = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'shop', namespace: 'shop' },
    spec: {
      ingressClassName: 'nginx',
      rules: [
        {
          host: HOST,
          http: {
            paths: [
              {
                path: '/cart',
                pathType: 'Prefix',
                backend: { service: { name: 'cart', port: { number: 80 } } },
              },
            ],
          },
        },
      ],
    },
  };
  const ingressClass = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'nginx' },
    spec: { controller: 'k8s.io/ingress-nginx' },
  };

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Answers with the path, and counts methods. */
  const shop =
    (methods: Set<string>, text = 'the cart'): RequestListener =>
    ({ method = '', url = '' }, response) => {
      methods.add(method);
      response.setHeader('Date', 'Wed, 18 Nov 2026 00:00:00 GMT');
      response.statusCode = url.startsWith('/cart') ? 200 : 404;
      response.end(url === '/cart' ? text : `${url}\n`);
    };

  async function manifests(): Promise<string> {
    const file = join(await mkdtemp(join(tmpdir(), 'tidegate-migrate-')), 'shop.json');
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [ingressClass, ingress] }));
    return file;
  }

  /** The outcome for a server in place of ingress-nginx and the address of another one. */
  const verify = async (before: RequestListener, after: string) =>
    migrate('verify', '-f', await manifests(), '--old', await serve(before), '--new', after);

  it('ends with 0 if both answer the same, and sends only methods that change nothing', async () => {
    const methods = new Set<string>();
    const { code, stdout } = await verify(shop(methods), await serve(shop(methods)));
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect([...methods].toSorted()).toEqual(['GET', 'HEAD', 'OPTIONS']);
  });

  it('ends with 2 and names the request whose responses differ', async () => {
    const other = await serve(shop(new Set(), 'the cart, but another one'));
    const { code, stdout } = await verify(shop(new Set()), other);
    expect({ code, stdout }).toMatchObject({ code: 2 });
    expect(stdout).toContain(`http://${HOST}/cart`);
    expect(stdout).toContain('body');
  });

  it('ends with 1 if a server does not answer', async () => {
    const { code, stdout } = await verify(shop(new Set()), `127.0.0.1:${CLOSED_PORTS[0]}`);
    expect({ code, stdout }).toMatchObject({ code: 1 });
    expect(stdout).toContain('ECONNREFUSED');
  });
});
