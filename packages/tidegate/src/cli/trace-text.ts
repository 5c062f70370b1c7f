import type { MatchRequest, Step } from '../ingress/match/index.ts';
import type { HostName, RouteAction, Source, Upstream } from '../ingress/model.ts';
import type { Trace, TracedEndpoint, TracedUpstream } from '../router/index.ts';

/** For people: one line for each thing that was looked at, and what comes of it at the end. */
export function traceText(trace: Trace, request: MatchRequest, pool: string | undefined): string {
  const url = `${request.secure ? 'https' : 'http'}://${request.host ?? ''}${request.path}`;
  const steps = [
    classLine(trace),
    ...routerLines(trace, pool),
    ...standingLines(trace, pool),
    ...(request.secure ? [certificateLine(trace)] : []),
    ...trace.steps.map(stepLine),
    ...trace.upstreams.flatMap(upstreamLines),
    ...trace.strangers.map(({ ingress, why }) => `Ingress ${ingress} names the host too, but ${why}`),
  ];
  const numbered = steps.map((line, index) => `${String(index + 1).padStart(3)}. ${line}`);
  const problems = trace.problems.map(
    ({ ingress, reason, field, message }) => `  ${ingress}: ${reason}: ${field}: ${message}`,
  );
  return [
    url,
    ...numbered,
    `=> ${conclusion(trace)}`,
    ...(problems.length > 0 ? ['Problems of Ingresses that are about this host:', ...problems] : []),
  ].join('\n');
}

const classLine = ({ className, controller }: Trace): string =>
  controller === undefined
    ? `Class ${className}: there is no such IngressClass; its Ingresses are looked at all the same`
    : `Class ${className}, of ${controller}`;

function routerLines({ routers }: Trace, pool: string | undefined): string[] {
  if (routers.length === 0)
    return [`Router: no L7Router ${pool === undefined ? '' : `in pool ${pool} `}has this host`];
  return routers.map(({ metadata, spec, status }) => {
    const addresses = (status?.addresses ?? []).map(({ ip, hostname }) => ip ?? hostname).join(', ');
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
    const place = spec.pool === undefined ? '' : ` in pool ${spec.pool}`;
    return `Router ${metadata.name}${place}, ${spec.driver}, at ${addresses || 'no address yet'}${ready ? '' : ', not ready'}`;
  });
}

/** Of a router that was not asked to stand there it is worth a word. */
function standingLines({ routers, pool }: Trace, asked: string | undefined): string[] {
  const isSaid = pool === undefined || pool === asked || routers.every(({ spec }) => spec.pool === pool);
  return isSaid ? [] : [`It is on a node of pool ${pool}, and uses only endpoints there`];
}

const certificateLine = ({ secret }: Trace): string =>
  secret === undefined ? "Certificate: the router's own" : `Certificate: of Secret ${secret}`;

function stepLine(step: Step): string {
  switch (step.kind) {
    case 'request':
      return `Host ${nameOf(step.host)}, path ${step.path}`;
    case 'host':
      return `${capital(tableOf(step.host))}: ${step.found ? 'there is one' : 'there is none'}`;
    case 'route': {
      const { match, path, headers, action } = step.route;
      const wanted = headers.map(({ name, value }) => ` and ${name}: ${value}`).join('');
      return `${match} ${path}${wanted} of ${sourceOf(action.source)}: ${VERDICTS[step.why]}`;
    }
    case 'fallback':
      return step.action === undefined
        ? `Default backend in ${tableOf(step.host)}: there is none`
        : `Default backend of ${sourceOf(step.action.source)}: it is taken`;
  }
}

const VERDICTS = { matches: 'it matches', otherPath: 'another path', otherHeaders: 'other headers' } as const;

const nameOf = (host: HostName): string => (host === '' ? '(none)' : host);
const tableOf = (host: HostName): string => (host === '' ? 'the table of all hosts' : `the table of ${host}`);
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const sourceOf = ({ kind, namespace, name, rule, path }: Source): string =>
  `${kind} ${namespace}/${name}${rule < 0 ? '' : ` (spec.rules[${rule}].http.paths[${path}])`}`;

function upstreamLines({ endpoints, weight, ...upstream }: TracedUpstream): string[] {
  const share = weight === 1 ? '' : `, weight ${weight}`;
  const trouble = upstream.problem === undefined ? '' : `: ${PROBLEMS[upstream.problem]}`;
  const name =
    upstream.service === ''
      ? 'a backend that is no Service'
      : `Service ${upstream.namespace}/${upstream.service}`;
  return [
    `${capital(name)} (upstream ${upstream.id}, ${upstream.protocol}, ${upstream.balance}${share})${trouble}`,
    ...endpoints.map(endpointLine),
  ];
}

const PROBLEMS: Readonly<Record<NonNullable<Upstream['problem']>, string>> = {
  noService: 'there is no such Service',
  noPort: 'it has no such port',
  noEndpoints: 'it has no endpoint that is ready',
  notSupported: 'this is not supported',
};

function endpointLine({ address, port, node, used, why }: TracedEndpoint): string {
  const at = address.includes(':') ? `[${address}]` : address;
  const place = node === undefined ? '' : ` on node ${node}`;
  return `Endpoint ${at}${port === undefined ? '' : `:${port}`}${place}${used ? '' : `: not used (${why})`}`;
}

function conclusion({ match, upstreams }: Trace): string {
  switch (match.kind) {
    case 'badRequest':
      return `400: the ${match.wrong} can not be served`;
    case 'notFound':
      return '404: no rule matches';
    case 'redirect':
      return `308: to https://${match.name}, because an Ingress asks for it`;
    case 'route':
      return routed(match.action, upstreams);
  }
}

function routed({ source }: RouteAction, upstreams: readonly TracedUpstream[]): string {
  const count = upstreams.flatMap(({ endpoints }) => endpoints).filter(({ used }) => used).length;
  if (count === 0) return `503: ${sourceOf(source)} matches, but there is no endpoint`;
  return `${count === 1 ? 'the endpoint' : `one of ${count} endpoints`} above, by ${sourceOf(source)}`;
}
