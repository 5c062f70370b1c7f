import { requestHost, wildcardOf } from '../../ingress/match/index.ts';
import type { Answer, RequestFacts } from './answer.ts';
import type { NginxAnswer } from './nginx-answer.ts';
import type { RuleName } from './rules.ts';
import type { TidegateSide } from './tidegate-side.ts';

/** In this order: what decides about a request before anything else comes first. */
const ORDER: readonly RuleName[] = [
  'normalization',
  'trailingSlash',
  'plainCertificates',
  'sslRedirect',
  'inheritedRoot',
  'catchAll',
];

/** The rule behind different answers. Undefined if the models of both controllers do not explain it. */
export function ruleBehind(
  request: RequestFacts,
  { answer: old, rules }: NginxAnswer,
  now: Answer,
  tidegate: TidegateSide,
): RuleName | undefined {
  if (now.kind === 'status' && now.status === 503) return 'refused';
  const foreign = foreignIngress(request, old, tidegate);
  if (foreign) return 'hostOwner';
  const known = ORDER.find((rule) => rules.includes(rule));
  if (known !== undefined) return known;
  if (old.kind === 'backend' && isLeftOut(old, tidegate)) return 'notServed';
  // Rules without a host answer here, and ingress-nginx does not use them.
  if (now.kind === 'backend' && old.kind === 'status') return 'catchAll';
  return rules.includes('regexHost') ? 'regexHost' : undefined;
}

/** ingress-nginx uses an Ingress of a namespace that does not own the host. */
function foreignIngress({ host }: RequestFacts, old: Answer, tidegate: TidegateSide): boolean {
  const name = requestHost(host) ?? '';
  const owner = tidegate.ownerOf(name) ?? tidegate.ownerOf(wildcardOf(name) ?? name);
  const ingress = 'ingress' in old ? old.ingress : undefined;
  return owner !== undefined && ingress !== undefined && !ingress.startsWith(`${owner}/`) && owner !== '';
}

const LEFT_OUT: readonly string[] = ['InvalidPath', 'TooManyPaths', 'PathConflict', 'InvalidHost'];

const isLeftOut = ({ ingress }: { ingress: string }, { outcomes }: TidegateSide): boolean =>
  outcomes.get(ingress)?.problems.some(({ reason }) => LEFT_OUT.includes(reason)) ?? false;
