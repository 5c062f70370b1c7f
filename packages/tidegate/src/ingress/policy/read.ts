import { AFFINITY_NAMES, readAffinity } from './affinity.ts';
import { type InvalidValue, PolicyReader } from './annotation-reader.ts';
import { type BackendTls, readBackendTls } from './backend-tls.ts';
import { readBasic } from './basic.ts';
import { CANARY_NAMES, type Canary, readCanary } from './canary.ts';
import { CLIENT_CERTIFICATE_NAMES, readClientCertificate } from './client-certificate.ts';
import { readCors } from './cors.ts';
import { ERROR_NAMES, readErrors } from './errors.ts';
import { EXTERNAL_AUTH_NAMES, readExternalAuth } from './external-auth.ts';
import type { ExternalServer } from './external-server.ts';
import { FORWARDING_NAMES, type Forwarding, readForwarding } from './forwarding.ts';
import { HANDSHAKE_NAMES, type Handshake, readHandshake } from './handshake.ts';
import { HASHING_NAMES, readHashBy } from './hashing.ts';
import { readCustomHeaders } from './header-sets.ts';
import { LIMIT_NAMES, readLimit, readThrottle } from './limit.ts';
import { MIRROR_NAMES, readMirror } from './mirror.ts';
import { isGuarded, type RoutePolicy } from './model.ts';
import { readAppRoot, readRedirect } from './redirect.ts';
import { readResponses } from './responses.ts';
import { type Rewrite, readRewrite, readVhost } from './rewrite.ts';
import { readSources } from './sources.ts';

/** The policies that the annotations of an Ingress ask for. */
export interface IngressPolicies {
  /** For each route. Undefined if there is none. */
  readonly route: RoutePolicy | undefined;
  readonly forwarding: Forwarding;
  /** For backends over TLS. */
  readonly backendTls: BackendTls | undefined;
  /** The backends get some requests of the same paths of another Ingress. */
  readonly canary: Canary | undefined;
  /** Redirect to HTTPS: always, or only hosts with a certificate. */
  readonly secure: 'always' | 'withCertificate' | undefined;
  /** For routes whose path is not the target itself. */
  readonly rewrite: { readonly rewrite: Rewrite; readonly written: string } | undefined;
  /** Paths are regular expressions. A rewrite makes them regular expressions too. */
  readonly useRegex: boolean;
  /** Where requests for `/` of the hosts are redirected to. */
  readonly appRoot: string | undefined;
  /** Redirect between each host and its name with or without `www.`. */
  readonly fromToWww: boolean;
  /** Other names of the host, as written. */
  readonly aliases: readonly string[];
  /** For the hosts. */
  readonly handshake: Handshake | undefined;
  /** Servers that the policies of the routes need, besides backends. */
  readonly servers: readonly ExternalServer[];
  /** The Service that gets requests for errors, and the statuses. The compiler makes a policy of it. */
  readonly errors: ReturnType<typeof readErrors>;
  /** The addresses of the Services get the requests, not their endpoints. */
  readonly usesAddress: boolean;
  /** An annotation that limits access to the routes. */
  readonly guards: boolean;
  /** The values that are not valid. `closes`: without the policy, clients could do what they must not. */
  readonly invalid: readonly (InvalidValue & { readonly effect: Effect })[];
}

/** What happens to an Ingress with an invalid annotation: its hosts are closed, its routes are closed, or nothing. */
export type Effect = 'closesHosts' | 'closesRoutes' | 'ignored';

const EFFECTS: Readonly<Record<string, Effect>> = {
  'allowlist-source-range': 'closesHosts',
  'whitelist-source-range': 'closesHosts',
  'denylist-source-range': 'closesHosts',
  'auth-type': 'closesHosts',
  'auth-secret': 'closesHosts',
  'auth-secret-type': 'closesHosts',
  'auth-realm': 'closesHosts',
  satisfy: 'closesHosts',
  ...Object.fromEntries(CLIENT_CERTIFICATE_NAMES.map((name) => [name, 'closesHosts' as const])),
  ...Object.fromEntries(EXTERNAL_AUTH_NAMES.map((name) => [name, 'closesHosts' as const])),
  ...Object.fromEntries(LIMIT_NAMES.map((name) => [name, 'closesHosts' as const])),
  ...Object.fromEntries(CANARY_NAMES.map((name) => [name, 'closesRoutes' as const])),
  ...Object.fromEntries([...AFFINITY_NAMES, ...HASHING_NAMES].map((name) => [name, 'ignored' as const])),
  ...Object.fromEntries(MIRROR_NAMES.map((name) => [name, 'ignored' as const])),
  ...Object.fromEntries(ERROR_NAMES.map((name) => [name, 'ignored' as const])),
  ...Object.fromEntries(FORWARDING_NAMES.map((name) => [name, 'ignored' as const])),
  ...Object.fromEntries(HANDSHAKE_NAMES.map((name) => [name, 'ignored' as const])),
  'app-root': 'ignored',
  'enable-access-log': 'ignored',
  'service-upstream': 'ignored',
  'preserve-trailing-slash': 'ignored',
};

/** The Ingress that has the policies. */
export interface PolicyOwner {
  readonly namespace: string;
  readonly name: string;
  /** The namespace of Secrets, if it is another one. Only administrators of the cluster can ask for that. */
  readonly secretNamespace?: string;
  /** The headers that its class allows for responses, in lower case. */
  readonly allowedHeaders?: readonly string[];
}

/** By name without prefix. */
export function readPolicies(
  annotations: ReadonlyMap<string, string>,
  ingress: PolicyOwner,
): IngressPolicies {
  if (annotations.size === 0) return NONE;
  const reader = new PolicyReader(annotations);
  const sources = readSources(reader);
  const { secretNamespace = ingress.namespace } = ingress;
  const basic = readBasic(reader, secretNamespace);
  const clientCertificate = readClientCertificate(reader, secretNamespace);
  const external = readExternalAuth(reader, ingress.namespace);
  const satisfyAny = readSatisfy(reader);
  const limit = readLimit(reader);
  const throttle = readThrottle(reader);
  const redirect = readRedirect(reader);
  const customHeaders = readCustomHeaders(reader, ingress);
  const cors = readCors(reader);
  const affinity = readAffinity(reader);
  const hashBy = readHashBy(reader);
  const vhost = readVhost(reader);
  const forwarding = readForwarding(reader);
  const responses = readResponses(reader);
  const mirrored = readMirror(reader, ingress.namespace);
  const isLogged = reader.flag('enable-access-log', true);
  // It is always kept. The annotation is read to report other values than true and false.
  reader.flag('preserve-trailing-slash');
  const route: RoutePolicy = {
    ...(redirect && { redirect }),
    ...(clientCertificate && { clientCertificate }),
    ...(customHeaders && { customHeaders }),
    ...(cors && { cors }),
    ...(sources && { sources }),
    ...(basic && { basic }),
    ...(external && { externalAuth: external.auth }),
    // Without another way to be satisfied, all of one is the same as any of one.
    ...(satisfyAny && [sources, basic, external].filter(Boolean).length > 1 && { satisfyAny }),
    ...(limit && { limit }),
    ...((limit ?? external?.auth.cache) && { zone: `${ingress.namespace}/${ingress.name}` }),
    ...(throttle && { throttle }),
    ...(affinity && { affinity }),
    ...(hashBy && !affinity && { hashBy }),
    ...(vhost !== undefined && { vhost }),
    ...(responses && { responses }),
    ...(mirrored && { mirror: mirrored.mirror }),
    ...(!isLogged && { unlogged: true }),
  };
  // Closed routes have no guards, so another spelling of their paths could reach an open route of the host.
  const otherwise = isGuarded(route) ? 'closesHosts' : 'closesRoutes';
  return {
    route: Object.keys(route).length === 0 ? undefined : route,
    forwarding,
    backendTls: readBackendTls(reader, ingress.namespace),
    canary: readCanary(reader),
    secure: readSecure(reader),
    rewrite: readRewrite(reader),
    useRegex: reader.flag('use-regex'),
    appRoot: readAppRoot(reader),
    fromToWww: reader.flag('from-to-www-redirect'),
    aliases: readAliases(reader),
    handshake: readHandshake(reader),
    servers: [external?.server, mirrored?.server].flatMap((server) => server ?? []),
    errors: readErrors(reader),
    usesAddress: reader.flag('service-upstream'),
    guards: isGuarded(route),
    invalid: reader.invalidValues.map((each) => ({ ...each, effect: EFFECTS[each.name] ?? otherwise })),
  };
}

/** The compiler checks each name, as it checks those of rules. */
const readAliases = (reader: PolicyReader): string[] =>
  (reader.text('server-alias') ?? '').split(',').flatMap((alias) => alias.trim() || []);

/** As in nginx, all restrictions apply unless it is `any`. */
const readSatisfy = (reader: PolicyReader): true | undefined =>
  reader.choice('satisfy', ['all', 'any']) === 'any' ? true : undefined;

function readSecure(reader: PolicyReader): IngressPolicies['secure'] {
  const isConditional = reader.flag('ssl-redirect');
  if (reader.flag('force-ssl-redirect')) return 'always';
  return isConditional ? 'withCertificate' : undefined;
}

const NONE: IngressPolicies = {
  route: undefined,
  forwarding: {},
  backendTls: undefined,
  canary: undefined,
  secure: undefined,
  rewrite: undefined,
  useRegex: false,
  appRoot: undefined,
  fromToWww: false,
  aliases: [],
  handshake: undefined,
  servers: [],
  errors: undefined,
  usesAddress: false,
  guards: false,
  invalid: [],
};
