import { type Ingress, type IngressClass, keyOf, type Secret, type Service } from '@tidegate/kube';
import type { L7Router } from '../../api/index.ts';
import { Compiler, classNameOf, type IngressProblem } from '../../ingress/compile/index.ts';
import {
  applyDelta,
  certificateFor,
  EMPTY_TABLE,
  explain,
  type Match,
  type MatchRequest,
  type RouteTable,
  requestHost,
  type Step,
  wildcardOf,
} from '../../ingress/match/index.ts';
import { type PoolSight, SlicesOfPool } from './pool-sight.ts';
import { poolOfRouters } from './standing.ts';
import { type TracedUpstream, traceUpstreams } from './traced-upstream.ts';

/** All that decides about requests. */
export interface TraceObjects extends PoolSight {
  ingresses: readonly Ingress[];
  classes: readonly IngressClass[];
  services: readonly Service[];
  /** Only those that are to be looked at: of others nothing is said. */
  secrets: readonly Secret[];
  routers: readonly L7Router[];
}

export interface TraceQuestion extends MatchRequest {
  className: string;
  /** As a router in this pool would serve it. */
  pool?: string;
}

/** What becomes of one request, and why. */
export interface Trace {
  className: string;
  /** Undefined: there is no such IngressClass. */
  controller: string | undefined;
  /** The routers that the host is placed on. */
  routers: readonly L7Router[];
  /** What is not in this pool they do not see. */
  pool: string | undefined;
  steps: readonly Step[];
  match: Match;
  /** Where it may go. */
  upstreams: readonly TracedUpstream[];
  /** Shown to who comes by https: the Secret, or undefined for the router's own. */
  secret: string | undefined;
  /** What is wrong with Ingresses that are about this host. */
  problems: readonly (IngressProblem & { ingress: string })[];
  /** Ingresses that name the host, and do not count here. */
  strangers: readonly { ingress: string; why: string }[];
}

/** Works it out as a router does, with the same compiler and the same matching. */
export function trace(objects: TraceObjects, question: TraceQuestion, now: number): Trace {
  const { className } = question;
  const names = namesOf(question);
  // Which rule matches is the same everywhere; which endpoints there are depends on where the router stands.
  const everywhere = compile(objects, new SlicesOfPool(objects, undefined), className, now);
  const { match, steps } = explain(everywhere.table, question);
  const host = 'host' in match ? match.host.host : names[0];
  const routers = objects.routers.filter((router) => serves(router, question, host ?? ''));
  const pool = question.pool ?? poolOfRouters(routers, objects.nodes);
  const slices = new SlicesOfPool(objects, pool);
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
    upstreams: match.kind === 'route' ? traceUpstreams(match.action, table, slices) : [],
    secret: certificateFor(table, names[0] ?? '')?.secret,
    // Without the Secrets nothing can be said about them.
    problems: problems.filter((each) => isAbout(each) && (question.secure || each.about !== 'certificates')),
    strangers: strangers(objects, className, names),
  };
}

function compile(
  { ingresses, classes, services, secrets }: TraceObjects,
  slices: SlicesOfPool,
  className: string,
  now: number,
): { table: RouteTable; problems: (IngressProblem & { ingress: string })[] } {
  const compiler = new Compiler({ classNames: [className], now: () => now });
  for (const each of classes) compiler.put('IngressClass', each);
  for (const each of ingresses) compiler.put('Ingress', each);
  for (const each of services) compiler.put('Service', each);
  for (const each of slices.visible()) compiler.put('EndpointSlice', each);
  for (const each of secrets) compiler.put('Secret', each);
  const { delta, outcomes } = compiler.flush();
  const problems = outcomes.set.flatMap(({ ingress, problems }) =>
    problems.map((each) => ({ ...each, ingress })),
  );
  return { table: delta === undefined ? EMPTY_TABLE : applyDelta(EMPTY_TABLE, delta), problems };
}

/** The host that is asked for, and its wildcard. */
function namesOf({ host }: TraceQuestion): string[] {
  const name = requestHost(host);
  return name === undefined ? [] : [name, wildcardOf(name) ?? name];
}

const namesHost = ({ spec }: Ingress, names: readonly string[]): boolean =>
  (spec?.rules ?? []).some(({ host = '' }) => host === '' || names.includes(host.toLowerCase())) ||
  spec?.defaultBackend !== undefined;

function serves({ spec }: L7Router, { className, pool }: TraceQuestion, host: string): boolean {
  const isOfClass = [spec.ingressClassName, ...(spec.sharedWith ?? [])].includes(className);
  const isThere = pool === undefined || spec.pool === pool;
  return isOfClass && isThere && (spec.hosts === undefined || host === '' || spec.hosts.includes(host));
}

function strangers(
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
        why: other === undefined ? 'has no class' : `has the class ${other}`,
      };
    });
}
