import { rootCertificates } from 'node:tls';
import { type Clock, isJsonMap, type JsonMap } from '@tidegate/kube';
import { Agent, errors, request } from 'undici';
import { type Cloud, CloudConfigError, type ServiceType } from './cloud.ts';
import { messageIn, OpenStackError } from './errors.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** After the base URL of the service, for example `/v2/lbaas/pools`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Token {
  readonly id: string;
  readonly projectId: string;
  readonly expires: number;
  readonly catalog: readonly JsonMap[];
}

/** A token is renewed this long before it expires, so that no call starts with an expired one. */
const RENEW_MS = 60_000;
/**
 * A call that takes longer has failed. Octavia only records what is to be done, but it reads the whole load balancer before
 * and after: with thousands of rules on a busy machine, that takes minutes.
 */
const CALL_TIMEOUT_MS = 300_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** Calls of the services of one cloud, with a token of Keystone that is renewed in time. */
export class Session {
  readonly #cloud: Cloud;
  readonly #clock: Clock;
  readonly #agent: Agent;
  readonly #callTimeoutMs: number;
  #token: Promise<Token> | undefined;
  /** Number of calls, without those to Keystone. For tests and benchmarks. */
  calls = 0;

  constructor(cloud: Cloud, clock: Clock, callTimeoutMs = CALL_TIMEOUT_MS) {
    this.#cloud = cloud;
    this.#clock = clock;
    this.#callTimeoutMs = callTimeoutMs;
    this.#agent = new Agent({
      headersTimeout: callTimeoutMs,
      bodyTimeout: callTimeoutMs,
      connect: {
        rejectUnauthorized: cloud.verify,
        ...(cloud.ca !== undefined && { ca: [...rootCertificates, cloud.ca] }),
      },
    });
  }

  /** The project that owns everything that this session creates. */
  async projectId(): Promise<string> {
    const { auth } = this.#cloud;
    return auth.type === 'none' ? auth.projectId : (await this.#validToken()).projectId;
  }

  /** Whether the cloud has the service. */
  async has(service: ServiceType): Promise<boolean> {
    try {
      await this.#endpoint(service);
      return true;
    } catch (error) {
      if (error instanceof CloudConfigError) return false;
      throw error;
    }
  }

  /** Resolves to the body of a successful response. Throws OpenStackError. */
  async call(service: ServiceType, call: Call, signal?: AbortSignal): Promise<JsonMap> {
    const first = await this.#send(service, call, signal);
    if (first.status !== 401 || this.#cloud.auth.type === 'none') return bodyOf(service, call, first);
    // The token was revoked, or Keystone has lost it.
    this.#token = undefined;
    return bodyOf(service, call, await this.#send(service, call, signal));
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #send(service: ServiceType, call: Call, signal?: AbortSignal): Promise<Answer> {
    const url = new URL(`${await this.#endpoint(service)}${call.path}`);
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.append(name, value);
    const { auth } = this.#cloud;
    const identity: Record<string, string> =
      auth.type === 'none'
        ? { 'x-project-id': auth.projectId }
        : { 'x-auth-token': (await this.#validToken()).id };
    this.calls++;
    return this.#exchange(service, url, call, { ...identity, ...call.headers }, signal);
  }

  async #exchange(
    service: string,
    url: URL,
    { method, path, body }: Call,
    headers: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Answer> {
    try {
      const response = await request(url, {
        method,
        dispatcher: this.#agent,
        headers: {
          accept: 'application/json',
          ...(body && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
      const text = await textOf(response.body);
      return { status: response.statusCode, text, headers: response.headers };
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const isTimeout =
        cause instanceof errors.HeadersTimeoutError || cause instanceof errors.BodyTimeoutError;
      const problem = isTimeout
        ? `no answer within ${this.#callTimeoutMs / 1000} seconds`
        : (cause as Error).message;
      const message = `${service}: ${method} ${path}: ${problem}`;
      throw new OpenStackError(message, { status: 0, kind: 'unavailable', cause });
    }
  }

  async #endpoint(service: ServiceType): Promise<string> {
    const given = this.#cloud.endpoints[service];
    if (given !== undefined) return given;
    const { auth, region, interface: face } = this.#cloud;
    if (auth.type === 'none')
      throw new CloudConfigError(
        `There is no catalog without authentication: set the endpoint of ${service}.`,
      );
    const { catalog } = await this.#validToken();
    const found = catalog
      .filter(({ type }) => type === service)
      .flatMap(({ endpoints }) => (Array.isArray(endpoints) ? (endpoints as JsonMap[]) : []))
      .find((each) => each.interface === face && (region === undefined || each.region === region));
    if (typeof found?.url === 'string') return found.url.replace(/\/+$/, '');
    const where = region === undefined ? '' : ` in the region ${region}`;
    throw new CloudConfigError(`The catalog of Keystone has no ${face} endpoint of ${service}${where}.`);
  }

  async #validToken(): Promise<Token> {
    const known = await this.#token?.catch(() => undefined);
    if (known !== undefined && known.expires - this.#clock.now() > RENEW_MS) return known;
    // Concurrent calls share one request.
    if (known !== undefined || this.#token === undefined) this.#token = this.#authenticate();
    this.#token.catch(() => {
      this.#token = undefined;
    });
    return this.#token;
  }

  async #authenticate(): Promise<Token> {
    const { auth } = this.#cloud;
    if (auth.type === 'none') throw new CloudConfigError('There is no token without authentication.');
    const url = new URL(`${auth.url.replace(/\/+$/, '').replace(/\/v3$/, '')}/v3/auth/tokens`);
    const body = { auth: { identity: auth.identity, ...(auth.scope && { scope: auth.scope }) } };
    const call: Call = { method: 'POST', path: url.pathname, body };
    const answer = await this.#exchange('identity', url, call, {});
    const { token } = bodyOf('identity', call, answer);
    const id = answer.headers['x-subject-token'];
    if (typeof id !== 'string' || !isJsonMap(token))
      throw new OpenStackError('identity: the response has no token', {
        status: answer.status,
        kind: 'invalid',
      });
    const project = isJsonMap(token.project) ? token.project.id : undefined;
    return {
      id,
      projectId: `${project ?? ''}`,
      expires: Date.parse(`${token.expires_at}`) || this.#clock.now() + 2 * RENEW_MS,
      catalog: Array.isArray(token.catalog) ? (token.catalog as JsonMap[]) : [],
    };
  }
}

interface Answer {
  status: number;
  text: string;
  headers: Record<string, string | string[] | undefined>;
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new Error(`the response has more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function bodyOf(service: string, { method, path }: Call, { status, text, headers }: Answer): JsonMap {
  let body: unknown;
  try {
    body = text === '' ? {} : JSON.parse(text);
  } catch {
    // Some errors are HTML pages.
    body = undefined;
  }
  if (status >= 200 && status < 300 && isJsonMap(body)) return body;
  const id = headers['x-openstack-request-id'];
  const suffix = typeof id === 'string' ? ` (${id})` : '';
  throw new OpenStackError(`${service}: ${method} ${path}: ${status} ${messageIn(body, text)}${suffix}`, {
    status,
  });
}
