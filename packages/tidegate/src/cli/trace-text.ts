import type { PolicyOrigin } from '../ingress/attached-policies/index.ts';
import type { Decision, MatchRequest, Step } from '../ingress/match/index.ts';
import type { HostName, RouteAction, Source, Upstream } from '../ingress/model.ts';
import { credentialsReference, describeBackendTls, describeCanary } from '../ingress/policy/index.ts';
import { MAX_STEPS } from '../ingress/regex/index.ts';
import type { Trace, TracedEndpoint, TracedUpstream } from '../router/index.ts';

/** Human-readable output: one line per step, and the result at the end. */
export function traceText(trace: Trace, request: MatchRequest, pool: string | undefined): string {
  const url = `${request.secure ? 'https' : 'http'}://${request.host ?? ''}${request.path}`;
  const steps = [
    classLine(trace),
    ...routerLines(trace, pool),
    ...poolLines(trace, pool),
    ...(request.secure ? [certificateLine(trace)] : []),
    ...trace.steps.map(stepLine),
    ...trace.policies.map((each) => `Policy: ${each}`),
    ...trace.origins.map(originLine),
    ...trace.upstreams.flatMap(upstreamLines),
    ...nodePortLines(trace),
    ...trace.ignored.map(({ ingress, why }) => `Ingress ${ingress} has this host too, but ${why}`),
  ];
  const numbered = steps.map((line, index) => `${String(index + 1).padStart(3)}. ${line}`);
  const problems = trace.problems.map(
    ({ ingress, reason, field, message }) => `  ${ingress}: ${reason}: ${field}: ${message}`,
  );
  return [
    url,
    ...numbered,
    ...conclusionLines(trace),
    ...(problems.length > 0 ? ['Problems of Ingresses for this host:', ...problems] : []),
  ].join('\n');
}

export const originLine = ({ policy, target, sections }: PolicyOrigin): string =>
  `Policies from ${policy} (${target}): ${sections.join(', ')}`;

const classLine = ({ className, controller }: Trace): string =>
  controller === undefined
    ? `Class ${className}: IngressClass not found; its Ingresses are traced anyway`
    : `Class ${className}, provisioner ${controller}`;

function routerLines({ routers }: Trace, pool: string | undefined): string[] {
  if (routers.length === 0)
    return [`Router: no L7Router ${pool === undefined ? '' : `in pool ${pool} `}serves this host`];
  return routers.map(({ metadata, spec, status }) => {
    const addresses = (status?.addresses ?? []).map(({ ip, hostname }) => ip ?? hostname).join(', ');
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
    const place = spec.pool === undefined ? '' : ` in pool ${spec.pool}`;
    return `Router ${metadata.name}${place}, ${spec.driver}, at ${addresses || 'no address yet'}${ready ? '' : ', not ready'}`;
  });
}

/** Mentions the pool of routers that run in a pool because of the node they were scheduled to, not because of `spec.pool`. */
function poolLines({ routers, pool }: Trace, requested: string | undefined): string[] {
  const isKnown = pool === undefined || pool === requested || routers.every(({ spec }) => spec.pool === pool);
  return isKnown ? [] : [`The router runs in pool ${pool}, so it uses only endpoints in this pool`];
}

const certificateLine = ({ secret }: Trace): string =>
  secret === undefined ? 'Certificate: default certificate of the router' : `Certificate: Secret ${secret}`;

function stepLine(step: Step): string {
  switch (step.kind) {
    case 'request':
      return `Host ${nameOf(step.host)}, path ${step.path}`;
    case 'host':
      return `${capital(tableOf(step.host))}: ${step.found ? 'found' : 'not found'}`;
    case 'route': {
      const { match, path, headers, action } = step.route;
      const wanted = headers.map(({ name, value }) => ` and ${name}: ${value}`).join('');
      return `${match} ${path}${wanted} of ${sourceOf(action.source)}: ${ROUTE_RESULTS[step.result]}`;
    }
    case 'fallback':
      return step.action === undefined
        ? `Default backend in ${tableOf(step.host)}: none`
        : `Default backend of ${sourceOf(step.action.source)}: used`;
  }
}

const ROUTE_RESULTS = {
  matches: 'matches',
  otherPath: 'path does not match',
  otherHeaders: 'headers do not match',
  otherNamespace: 'the host belongs to another namespace',
} as const;

const nameOf = (host: HostName): string => (host === '' ? '(none)' : host);
const tableOf = (host: HostName): string => (host === '' ? 'routes for all hosts' : `routes for ${host}`);
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const sourceOf = ({ kind, namespace, name, rule, path }: Source): string =>
  `${kind} ${namespace}/${name}${rule < 0 ? '' : ` (spec.rules[${rule}].http.paths[${path}])`}`;

function upstreamLines({ endpoints, weight, canary, ...upstream }: TracedUpstream): string[] {
  const share = canary ? `, ${describeCanary(canary)}` : weight === 1 ? '' : `, weight ${weight}`;
  const problem = upstream.problem === undefined ? '' : `: ${PROBLEMS[upstream.problem]}`;
  const name =
    upstream.problem === 'closed'
      ? 'no backend'
      : upstream.service === ''
        ? 'a backend that is not a Service, or with another protocol'
        : `Service ${upstream.namespace}/${upstream.service}`;
  return [
    `${capital(name)} (upstream ${upstream.id}, ${upstream.protocol}, ${upstream.balance}${share})${problem}`,
    ...(upstream.tls ? [`TLS: ${describeBackendTls(upstream.tls)}`] : []),
    ...endpoints.map(endpointLine),
  ];
}

const PROBLEMS: Readonly<Record<NonNullable<Upstream['problem']>, string>> = {
  noService: 'Service not found',
  noPort: 'the Service does not have this port',
  noEndpoints: 'no ready endpoints',
  notSupported: 'not supported',
  closed: 'an annotation is not valid, or asks for a protection that Tidegate does not support',
};

function endpointLine({ address, port, node, used, why }: TracedEndpoint): string {
  const at = address.includes(':') ? `[${address}]` : address;
  const place = node === undefined ? '' : ` on node ${node}`;
  return `Endpoint ${at}${port === undefined ? '' : `:${port}`}${place}${used ? '' : `: not used (${why})`}`;
}

/** A load balancer that does not reach pods connects to nodes, which forward to the endpoints. */
const nodePortLines = ({ routers, upstreams }: Trace): string[] =>
  upstreams.length > 0 && routers.some(({ spec }) => spec.parameters?.members === 'nodePorts')
    ? ['The load balancer connects to the node port of the Service on all ready nodes']
    : [];

/** A router can report that it does not serve a host as its Ingresses say. */
function conclusionLines(trace: Trace): string[] {
  const hosts = trace.steps.flatMap((step) => (step.kind === 'host' && step.found ? [step.host] : []));
  const failures = trace.routers.flatMap(({ metadata, status }) =>
    (status?.failedHosts ?? [])
      .filter(({ host }) => hosts.includes(host))
      .map(
        ({ host, reason, message }) =>
          `=> router ${metadata.name} reports ${reason} for ${host === '' ? 'rules without a host' : `host ${host}`}: ${message}`,
      ),
  );
  const result = conclusion(trace);
  return failures.length === 0 ? [`=> ${result}`] : [`=> as the Ingresses say: ${result}`, ...failures];
}

function conclusion({ match, upstreams, decision }: Trace): string {
  switch (match.kind) {
    case 'badRequest':
      return `400: invalid ${match.wrong}`;
    case 'tooManySteps':
      return `503: the regular expressions of ${match.name} take more than ${MAX_STEPS} steps for this path. Use fewer or simpler expressions`;
    case 'notFound':
      return '404: no rule matches';
    case 'redirect':
      return `308: redirect to https://${match.name}, requested by an Ingress`;
    case 'appRoot':
      return `302: redirect to ${match.path}, requested by an Ingress`;
    case 'route':
      return decision?.kind === 'answer'
        ? answered(decision, match.action)
        : routed(match.action, upstreams, decision);
  }
}

function answered(
  { status, location, why }: Extract<Decision, { kind: 'answer' }>,
  { source, policy }: RouteAction,
): string {
  const what =
    location === undefined ? (why ?? ANSWERS[status] ?? unusable(policy)) : `redirect to ${location}`;
  return `${status}: ${what}, by a policy of ${sourceOf(source)}`;
}

/** What is missing, if a route serves no client. */
function unusable(policy: RouteAction['policy']): string {
  const headers = [policy?.customHeaders?.credentials, policy?.externalAuth?.headers].flatMap((id) =>
    id === undefined ? [] : `ConfigMap ${credentialsReference(id).secret} with headers`,
  );
  const users =
    policy?.basic === undefined
      ? []
      : [`Secret ${credentialsReference(policy.basic.credentials).secret} with its users`];
  const needed = [...users, ...headers];
  if (needed.length === 0) return 'a policy cannot be applied';
  return `${needed.join(' or ')} does not exist, is invalid or cannot be read`;
}

const ANSWERS: Readonly<Record<number, string>> = {
  400: 'the rewritten path has dot segments or control characters',
  403: 'the client is not allowed',
};

function routed(
  { source }: RouteAction,
  upstreams: readonly TracedUpstream[],
  decision: Decision | undefined,
): string {
  const count = upstreams.flatMap(({ endpoints }) => endpoints).filter(({ used }) => used).length;
  if (count === 0) return `503: ${sourceOf(source)} matches, but has no usable endpoints`;
  return `forwarded to ${count === 1 ? 'the endpoint' : `one of the ${count} endpoints`} above${pathOf(decision)}, by ${sourceOf(source)}`;
}

/** Only a rewritten path is shown. */
const pathOf = (decision: Decision | undefined): string =>
  decision?.kind === 'forward' && decision.isRewritten ? ` as ${decision.target}` : '';
