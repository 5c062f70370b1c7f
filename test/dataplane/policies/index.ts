/** Policies of routes, from annotations of ingress-nginx to the answers of a data plane. One topic per kind of policy. */
import type { MakeDriver } from '../support/world.ts';
import { affinity } from './affinity.ts';
import { aliases } from './aliases.ts';
import { attachedPolicies } from './attached.ts';
import { backendTls } from './backend-tls.ts';
import { balance } from './balance.ts';
import { canaries } from './canaries.ts';
import { ciphers } from './ciphers.ts';
import { clientCertificates } from './client-certificates.ts';
import { cors } from './cors.ts';
import { customHeaders } from './custom-headers.ts';
import { errors } from './errors.ts';
import { externalAuthentication } from './external-auth.ts';
import { forwarding } from './forwarding.ts';
import { limits } from './limits.ts';
import { logging } from './logging.ts';
import { mirrors } from './mirror.ts';
import { redirects } from './redirects.ts';
import { responses } from './responses.ts';
import { rewrites } from './rewrites.ts';
import { sources } from './sources.ts';
import { basicAuthentication } from './users.ts';

export function policies(make: MakeDriver): void {
  const access = [sources, basicAuthentication, clientCertificates, externalAuthentication, limits];
  const forwarded = [forwarding, canaries, affinity, balance, cors, redirects, rewrites, responses];
  const others = [aliases, mirrors, logging, backendTls, ciphers, customHeaders, errors, attachedPolicies];
  for (const topic of [...access, ...forwarded, ...others]) topic(make);
}
