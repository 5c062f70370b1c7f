import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

type Fields = Record<string, unknown>;

/** What a client may set, as the reference of the Key Manager API lists it. */
const SECRET = [
  'name',
  'payload',
  'payload_content_type',
  'payload_content_encoding',
  'secret_type',
  'expiration',
];
const CONTAINER = ['name', 'type', 'secret_refs'];
const PARTS = ['certificate', 'private_key', 'private_key_passphrase', 'intermediates'];

/** The part of Barbican's API for certificate containers and their secrets, strict about fields and references. */
export class BarbicanServer {
  readonly url: string;
  readonly secrets = new Map<string, Fields>();
  readonly containers = new Map<string, Fields>();
  readonly #server: Server;

  static async start(): Promise<BarbicanServer> {
    let barbican: BarbicanServer;
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const url = new URL(request.url ?? '', barbican.url);
      const { status, body } = barbican.#answer(request.method ?? '', url, Buffer.concat(chunks).toString());
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    barbican = new BarbicanServer(server);
    return barbican;
  }

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(method: string, { pathname, searchParams }: URL, text: string): { status: number; body?: unknown } {
    const [, version, kind = '', id] = pathname.split('/');
    const all = kind === 'secrets' ? this.secrets : kind === 'containers' ? this.containers : undefined;
    if (version !== 'v1' || all === undefined) return refusal(404, 'Not Found');
    const ref = kind === 'secrets' ? 'secret_ref' : 'container_ref';
    if (method === 'GET' && id === undefined) {
      const name = searchParams.get('name');
      const found = [...all.values()].filter((each) => name === null || each.name === name);
      const [limit, offset] = [searchParams.get('limit') ?? 10, searchParams.get('offset') ?? 0].map(Number);
      return {
        status: 200,
        body: { [kind]: found.slice(offset, Number(offset) + Number(limit)), total: found.length },
      };
    }
    if (method === 'POST' && id === undefined) {
      const fields = JSON.parse(text) as Fields;
      const problem = kind === 'secrets' ? secretProblem(fields) : this.#containerProblem(fields);
      if (problem !== undefined) return refusal(400, problem);
      const url = `${this.url}/v1/${kind}/${randomUUID()}`;
      all.set(url, { ...fields, [ref]: url });
      return { status: 201, body: { [ref]: url } };
    }
    if (method === 'DELETE' && id !== undefined)
      return all.delete(`${this.url}${pathname}`)
        ? { status: 204 }
        : refusal(404, 'Not Found. Sorry but your secret is in another castle.');
    return refusal(405, 'Method not allowed');
  }

  #containerProblem(fields: Fields): string | undefined {
    const refs = (fields.secret_refs ?? []) as { name: string; secret_ref: string }[];
    if (fields.type !== 'certificate') return 'Provided object does not match schema: type';
    if (refs.some(({ name }) => !PARTS.includes(name)))
      return 'only reference names allowed are certificate, ...';
    if (!refs.some(({ name }) => name === 'certificate')) return "'certificate' reference is required";
    if (refs.some(({ secret_ref: ref }) => !this.secrets.has(ref)))
      return 'Secret provided for container does not exist';
    return unknownIn(fields, CONTAINER);
  }
}

const secretProblem = (fields: Fields): string | undefined =>
  typeof fields.payload !== 'string' || typeof fields.payload_content_type !== 'string'
    ? 'payload_content_type must be supplied with payload'
    : unknownIn(fields, SECRET);

const unknownIn = (fields: Fields, known: readonly string[]): string | undefined => {
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  return unknown === undefined
    ? undefined
    : `Additional properties are not allowed ('${unknown}' was unexpected)`;
};

const refusal = (code: number, description: string) => ({
  status: code,
  body: { code, title: 'Refused', description },
});
