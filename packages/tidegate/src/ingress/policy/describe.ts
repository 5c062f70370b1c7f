import { describeAffinity } from './affinity.ts';
import { credentialsReference } from './basic.ts';
import { describeClientCertificate } from './client-certificate.ts';
import type { Cors } from './cors.ts';
import { describeErrors } from './errors.ts';
import { describeExternalAuth } from './external-auth.ts';
import { describeHashBy } from './hashing.ts';
import { describeCustomHeaders } from './header-sets.ts';
import type { Limit } from './limit.ts';
import { describeMirror } from './mirror.ts';
import type { RoutePolicy } from './model.ts';
import { type Network, networkText } from './networks.ts';
import { describeResponses } from './responses.ts';
import type { GroupTemplate } from './rewrite.ts';
import { urlText } from './url-template.ts';

/** What the policies of a route do, one short sentence each, in the order in which they apply. */
export function describePolicy({
  redirect,
  secure,
  clientCertificate,
  customHeaders,
  cors,
  sources,
  basic,
  externalAuth,
  satisfyAny,
  limit,
  throttle,
  rewrite,
  affinity,
  hashBy,
  vhost,
  responses,
  mirror,
  errors,
  unlogged,
}: RoutePolicy): string[] {
  const lines: string[] = [];
  if (redirect) lines.push(`redirects to ${urlText(redirect.to)} with status ${redirect.status}`);
  if (secure) lines.push('redirects requests over HTTP to HTTPS');
  if (clientCertificate) lines.push(describeClientCertificate(clientCertificate));
  if (customHeaders) lines.push(describeCustomHeaders(customHeaders));
  if (cors) lines.push(`lets browsers use it from ${originsText(cors)}`);
  if (sources && sources.deny.length > 0) lines.push(`refuses clients in ${networksText(sources.deny)}`);
  if (sources && sources.allow.length > 0)
    lines.push(`serves only clients in ${networksText(sources.allow)}`);
  if (limit) lines.push(...limitLines(limit));
  if (throttle) {
    const { bytesPerSecond, after } = throttle;
    const first = after > 0 ? `, after the first ${after} bytes` : '';
    lines.push(`sends ${bytesPerSecond} bytes of a response in each second${first}`);
  }
  if (basic) {
    const { secret } = credentialsReference(basic.credentials);
    lines.push(`asks for the name and password of a user in Secret ${secret}`);
  }
  if (externalAuth) lines.push(...describeExternalAuth(externalAuth));
  if (satisfyAny) lines.push('serves clients that are in the allow list, or authenticate');
  if (rewrite) {
    lines.push(`rewrites the path to ${templateText(rewrite.target)}`);
    if (rewrite.prefix) lines.push(`sends X-Forwarded-Prefix: ${templateText(rewrite.prefix)}`);
  }
  if (affinity) lines.push(describeAffinity(affinity));
  if (hashBy) lines.push(describeHashBy(hashBy));
  if (vhost !== undefined) lines.push(`sends Host: ${vhost}`);
  if (responses) lines.push(...describeResponses(responses));
  if (mirror) lines.push(describeMirror(mirror));
  if (errors) lines.push(...describeErrors(errors));
  if (unlogged) lines.push('is not in the access log');
  return lines;
}

const originsText = ({ origins }: Cors): string =>
  origins === undefined ? 'all sites' : origins.map((parts) => parts.join('*')).join(', ');

function limitLines({ requests, connections, exempt }: Limit): string[] {
  const except = exempt.length === 0 ? '' : `, except for clients in ${networksText(exempt)}`;
  const rates = requests.map(({ perSecond, burst }) => {
    const isWhole = Number.isInteger(perSecond);
    const rate = isWhole ? `${perSecond} requests per second` : `${perSecond * 60} requests per minute`;
    return `serves ${rate} of a client, with a burst of ${burst}${except}`;
  });
  return connections === undefined
    ? rates
    : [...rates, `serves ${connections} requests of a client at a time${except}`];
}

const MOST_SHOWN = 5;

function networksText(networks: readonly Network[]): string {
  const shown = networks.slice(0, MOST_SHOWN).map(networkText).join(', ');
  const more = networks.length - MOST_SHOWN;
  return more > 0 ? `${shown} and ${more} more networks` : shown;
}

const templateText = (parts: GroupTemplate): string =>
  parts.map((part) => (typeof part === 'string' ? part : `$${part}`)).join('');
