import { type Ingress, keyOf } from '@tidegate/kube';
import { NGINX_PREFIX } from '../ingress/nginx-annotations/index.ts';
import { samplesOf } from './regex-samples.ts';

/** A request to compare two controllers with. */
export interface TestRequest {
  readonly secure: boolean;
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where it comes from, for example `shop/web, path /cart`. */
  readonly from: string;
}

/** Methods that change nothing. Others are sent only if the user asks for them. */
export const READ_ONLY = ['GET', 'HEAD', 'OPTIONS'] as const;

interface Options {
  /** Default: the read-only methods. */
  readonly methods?: readonly string[];
  /** For wildcards, and for rules without a host. */
  readonly label?: string;
}

/**
 * Requests for all rules: each path, its neighbors, slashes, spellings and cases, over HTTP and, for hosts with TLS, over HTTPS; for one
 * path of each rule all methods, and the headers that annotations look at.
 */
export function requestsFor(ingresses: readonly Ingress[], options: Options = {}): TestRequest[] {
  const all = new Map<string, TestRequest>();
  for (const ingress of ingresses)
    for (const request of requestsOf(ingress, options)) {
      const key = keyOfRequest(request);
      if (!all.has(key)) all.set(key, request);
    }
  return [...all.values()];
}

export const keyOfRequest = ({ secure, host, target, method, headers }: TestRequest): string =>
  JSON.stringify([secure, host, target, method, headers]);

function* requestsOf(
  ingress: Ingress,
  { methods = READ_ONLY, label = 'tidegate-test' }: Options,
): Generator<TestRequest> {
  const { rules = [], tls = [], defaultBackend } = ingress.spec ?? {};
  const withDefault = rules.length === 0 && defaultBackend !== undefined ? [{ host: '' }] : rules;
  for (const { host: written = '', http } of withDefault as typeof rules) {
    const host = (written === '' ? `${label}.invalid` : written.replace(/^\*/, label)).toLowerCase();
    const schemes = tls.length > 0 ? [false, true] : [false];
    for (const { path = '/', pathType } of http?.paths ?? [{ path: '/', pathType: 'Prefix' }]) {
      const from = `${keyOf(ingress)}, path ${path}`;
      const [first = '/', ...others] = targetsOf(ingress, path || '/', pathType);
      for (const secure of schemes) {
        for (const method of methods) yield { secure, host, target: first, method, headers: {}, from };
        for (const headers of headersOf(ingress))
          yield { secure, host, target: first, method: methodFor(headers), headers, from };
        for (const target of others) yield { secure, host, target, method: 'GET', headers: {}, from };
      }
    }
    for (const target of ['/', '/tidegate-test/no-such-path'])
      yield {
        secure: false,
        host,
        target,
        method: 'GET',
        headers: {},
        from: `${keyOf(ingress)}, host ${host}`,
      };
  }
}

const annotation = ({ metadata }: Ingress, name: string): string =>
  metadata.annotations?.[NGINX_PREFIX + name]?.trim() ?? '';

/** The path, what is next to it, and other spellings of it. The first is the path itself. */
function targetsOf(ingress: Ingress, path: string, type: string | undefined): string[] {
  const isRegex = annotation(ingress, 'use-regex') === 'true' || annotation(ingress, 'rewrite-target') !== '';
  const samples = isRegex || type === 'ImplementationSpecific' ? samplesOf(path) : [];
  const bases = isRegex ? samples : [path, ...samples];
  return [...new Set([...bases, ...bases.flatMap(neighborsOf)].filter(isSendable))];
}

function neighborsOf(path: string): string[] {
  const bare = path.replace(/\/+$/, '');
  const parent = bare.slice(0, bare.lastIndexOf('/')) || '/';
  const last = bare.slice(bare.lastIndexOf('/') + 1);
  const encoded = last === '' ? [] : [`${bare.slice(0, -1)}${percent(bare.slice(-1))}`];
  return [
    bare === '' ? '/' : bare,
    `${bare}/`,
    `${bare}/tidegate-test`,
    ...(bare === '' ? [] : [`${bare}-tidegate-test`, parent]),
    path.toUpperCase(),
    path.toLowerCase(),
    `/${path}`,
    `${bare}//tidegate-test`,
    `/tidegate-test/..${path}`,
    `${bare}/./tidegate-test`,
    `${bare}/tidegate-test%2Fx`,
    ...encoded,
    `${path}?tidegate-test=1`,
  ];
}

const percent = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

/** Other characters cannot be in a request line. */
const isSendable = (target: string): boolean => /^\/[\x21\x22\x24-\x7e]*$/.test(target);

const ORIGIN = 'https://tidegate-test.example';

/** Headers that annotations of the Ingress look at. */
function headersOf(ingress: Ingress): Record<string, string>[] {
  const result: Record<string, string>[] = [];
  if (annotation(ingress, 'enable-cors') === 'true') {
    const [allowed = ''] = annotation(ingress, 'cors-allow-origin').split(',');
    const origins = [ORIGIN, ...(/^https?:\/\/[^*]+$/.test(allowed.trim()) ? [allowed.trim()] : [])];
    for (const origin of origins) {
      result.push({ origin });
      result.push({ origin, 'access-control-request-method': 'GET' });
    }
  }
  const header = annotation(ingress, 'canary-by-header').toLowerCase();
  if (/^[a-z0-9-]+$/.test(header))
    for (const value of ['always', 'never', annotation(ingress, 'canary-by-header-value')])
      if (value !== '') result.push({ [header]: value });
  const cookie = annotation(ingress, 'canary-by-cookie');
  if (/^[\w-]+$/.test(cookie))
    for (const value of ['always', 'never']) result.push({ cookie: `${cookie}=${value}` });
  if (annotation(ingress, 'auth-type') === 'basic') result.push({ authorization: 'Basic eDp4' });
  return result;
}

/** A preflight request of a browser. */
const methodFor = (headers: Record<string, string>): string =>
  headers['access-control-request-method'] === undefined ? 'GET' : 'OPTIONS';
