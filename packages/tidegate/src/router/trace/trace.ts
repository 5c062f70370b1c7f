import {
  type ConfigMap,
  type Ingress,
  type IngressClass,
  keyOf,
  type Secret,
  type Service,
} from '@tidegate/kube';
import type { AttachedPolicy, HostClaim, L7Router } from '../../api/index.ts';
import type { PolicyOrigin } from '../../ingress/attached-policies/index.ts';
import { clientSettingsOf, clientsOf, withPort } from '../../ingress/clients/index.ts';
import { Compiler, classNameOf, type IngressProblem } from '../../ingress/compile/index.ts';
import {
  applyDelta,
  certificateAnswer,
  certificateFor,
  type Decision,
  decide,
  EMPTY_TABLE,
  explain,
  type Match,
  type MatchRequest,
  type RouteTable,
  requestHost,
  type Step,
  wildcardOf,
} from '../../ingress/match/index.ts';
import type { Source } from '../../ingress/model.ts';
import { defaultAnnotations } from '../../ingress/nginx-config/index.ts';
import { describeForwarding, describeHandshake, describePolicy } from '../../ingress/policy/index.ts';
import { poolOfRouters } from './pool-of-routers.ts';
import { PoolSlices, type ScopeObjects } from './pool-slices.ts';
import { type TracedUpstream, traceUpstreams } from './traced-upstream.ts';

/** All objects that routing depends on. */
export interface TraceObjects extends ScopeObjects {
  ingresses: readonly Ingress[];
  classes: readonly IngressClass[];
  services: readonly Service[];
  /** Only the Secrets to check. Problems of other certificates are not reported. */
  secrets: readonly Secret[];
  /** ConfigMaps with headers. */
  configMaps?: readonly ConfigMap[];
  routers: readonly L7Router[];
  /** Undefined if the cluster has none, or if they cannot be read. Then the oldest Ingress owns a host. */
  claims: readonly HostClaim[] | undefined;
  routePolicies: readonly AttachedPolicy[];
  clusterRoutePolicies: readonly AttachedPolicy[];
}

/** The request to trace. */
export interface TraceQuestion extends MatchRequest {
  className: string;
  /** Trace the request as a router in this pool would serve it. */
  pool?: string;
  /** IP address of the client. Without it, the request is traced as that of a client that may use the route. */
  client?: string;
  /** Trace the request of a client without a client certificate. Otherwise it has one that the route accepts. */
  withoutCertificate?: boolean;
}

/** What happens to one request, and why. */
export interface Trace {
  className: string;
  /** Undefined if the IngressClass does not exist. */
  controller: string | undefined;
  /** The routers that the host is placed on. */
  routers: readonly L7Router[];
  /** The pool that the routers run in. They use only endpoints of this pool. */
  pool: string | undefined;
  steps: readonly Step[];
  match: Match;
  /** What the policies of the route do, in words. */
  policies: readonly string[];
  /** The RoutePolicies and ClusterRoutePolicies that the route has policies from, the outermost first. */
  origins: readonly PolicyOrigin[];
  /** What the policies make of the request. Undefined if it has no route. */
  decision: Decision | undefined;
  /** The upstreams that the request may be sent to. */
  upstreams: readonly TracedUpstream[];
  /** The Secret of the certificate for HTTPS; undefined: the router's own certificate. */
  secret: string | undefined;
  /** Problems of Ingresses that refer to this host. */
  problems: readonly (IngressProblem & { ingress: string })[];
  /** Ingresses for this host that the routers ignore, because they belong to another class. */
  ignored: readonly { ingress: string; why: string }[];
}

/** Compiles and matches with the code that the routers use. */
export function trace(objects: TraceObjects, question: TraceQuestion, now: number): Trace {
  const { className } = question;
  const names = namesOf(question);
  // The matching rule is the same for all routers of the class. The endpoints depend on the pool that a router runs
  // in.
  const everywhere = compile(objects, new PoolSlices(objects, undefined), className, now);
  const { match, steps } = explain(everywhere.table, question);
  const host = 'host' in match ? match.host.host : names[0];
  const routers = objects.routers.filter((router) => serves(router, question, host ?? ''));
  const pool = question.pool ?? poolOfRouters(routers, objects.nodes);
  const slices = new PoolSlices(objects, pool);
  const { table, problems } = pool === undefined ? everywhere : compile(objects, slices, className, now);
  const isAbout = ({ ingress }: { ingress: string }): boolean =>
    objects.ingresses.some((each) => keyOf(each) === ingress && namesHost(each, names));
  return {
    className,
    controller: objects.classes.find(({ metadata }) => metadata.name === className)?.spec?.controller,
    routers,
    pool,
    steps,
    match,
    policies:
      match.kind === 'route'
        ? [
            ...(question.secure ? describeHandshake(match.host.handshake ?? {}) : []),
            ...describePolicy(match.action.policy ?? {}),
            ...describeForwarding(match.action.limits),
          ]
        : [],
    origins: match.kind === 'route' ? everywhere.originsOf(match.action.source) : [],
    decision: match.kind === 'route' ? decisionOf(match, question, table) : undefined,
    upstreams: match.kind === 'route' ? traceUpstreams(match.action, table, slices) : [],
    secret: certificateFor(table, names[0] ?? '')?.secret,
    // For plain HTTP the Secrets are not read, so nothing is known about certificates.
    problems: problems.filter((each) => isAbout(each) && (question.secure || each.about !== 'certificates')),
    ignored: ignoredIngresses(objects, className, names),
  };
}

function decisionOf(
  found: Extract<Match, { kind: 'route' }>,
  { client, host = '', withoutCertificate = false, ...question }: TraceQuestion,
  table: RouteTable,
): Decision {
  const { name, path, action, ...rest } = found;
  const { sources, ...others } = action.policy ?? {};
  const policy = client === undefined || sources === undefined ? others : { ...others, sources };
  const request = {
    client: client ?? '',
    secure: question.secure,
    name,
    secureAuthority: withPort(name, clientSettingsOf(table)?.ports?.https ?? 443),
    authority: host,
    target: question.path,
    path,
  };
  const refusal = certificateAnswer(others, request, { table, isWithout: withoutCertificate });
  if (refusal !== undefined) return refusal;
  const decision = decide({ ...rest, action: { ...action, policy } }, request);
  const { basic, externalAuth } = decision.kind === 'forward' ? (decision.authentication ?? {}) : {};
  const needed = [policy.customHeaders?.credentials, basic?.credentials, externalAuth?.headers];
  // Without the users or headers, routers serve no client.
  return needed.every((id) => id === undefined || table.credentials.get(id) !== undefined)
    ? decision
    : { kind: 'answer', status: 503 };
}

function compile(
  objects: TraceObjects,
  slices: PoolSlices,
  className: string,
  now: number,
): {
  table: RouteTable;
  problems: (IngressProblem & { ingress: string })[];
  originsOf: (source: Source) => readonly PolicyOrigin[];
} {
  const { ingresses, classes, services, secrets, configMaps = [], claims, routers } = objects;
  const { routePolicies, clusterRoutePolicies } = objects;
  const claimsRequired = claims !== undefined;
  const compiler = new Compiler({ classNames: [className], claimsRequired, now: () => now });
  // All routers of a class have the same defaults.
  const router = routers.find(({ spec }) =>
    [spec.ingressClassName, ...(spec.sharedWith ?? [])].includes(className),
  );
  compiler.setDefaults(defaultAnnotations(router?.spec.ingressDefaults));
  compiler.setClients(router && clientsOf(router));
  for (const each of clusterRoutePolicies) compiler.put('ClusterRoutePolicy', each);
  for (const each of routePolicies) compiler.put('RoutePolicy', each);
  for (const each of claims ?? []) compiler.put('HostClaim', each);
  for (const each of classes) compiler.put('IngressClass', each);
  for (const each of ingresses) compiler.put('Ingress', each);
  for (const each of services) compiler.put('Service', each);
  for (const each of slices.visible()) compiler.put('EndpointSlice', each);
  for (const each of secrets) compiler.put('Secret', each);
  for (const each of configMaps) compiler.put('ConfigMap', each);
  const { delta, outcomes } = compiler.flush();
  const problems = outcomes.set.flatMap(({ ingress, problems }) =>
    problems.map((each) => ({ ...each, ingress })),
  );
  return {
    table: delta === undefined ? EMPTY_TABLE : applyDelta(EMPTY_TABLE, delta),
    problems,
    originsOf: ({ namespace, name }) => compiler.factsOf(`${namespace}/${name}`)?.origins ?? [],
  };
}

/** The requested host, and the wildcard that covers it. */
function namesOf({ host }: TraceQuestion): string[] {
  const name = requestHost(host);
  return name === undefined ? [] : [name, wildcardOf(name) ?? name];
}

/** Whether the Ingress has rules, or a default backend, that can apply to one of the names. */
const namesHost = ({ spec }: Ingress, names: readonly string[]): boolean =>
  (spec?.rules ?? []).some(({ host = '' }) => host === '' || names.includes(host.toLowerCase())) ||
  spec?.defaultBackend !== undefined;

/** Whether the router serves the host for this class, and in this pool if one was asked for. */
function serves({ spec }: L7Router, { className, pool }: TraceQuestion, host: string): boolean {
  const isOfClass = [spec.ingressClassName, ...(spec.sharedWith ?? [])].includes(className);
  const isThere = pool === undefined || spec.pool === pool;
  return isOfClass && isThere && (spec.hosts === undefined || host === '' || spec.hosts.includes(host));
}

/** Ingresses that name the host but have another class: a common reason for a 404. */
function ignoredIngresses(
  { ingresses }: TraceObjects,
  className: string,
  names: readonly string[],
): { ingress: string; why: string }[] {
  return ingresses
    .filter(({ spec }) => (spec?.rules ?? []).some(({ host = '' }) => names.includes(host.toLowerCase())))
    .filter((ingress) => classNameOf(ingress) !== className)
    .map((ingress) => {
      const other = classNameOf(ingress);
      return {
        ingress: keyOf(ingress),
        why: other === undefined ? 'has no class' : `has class ${other}`,
      };
    });
}
