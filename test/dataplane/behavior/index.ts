/** Behavior that all data planes share. Each topic is a function that gets the constructor of a driver. */
import type { MakeDriver } from '../support/world.ts';
import { answers } from './answers.ts';
import { changes } from './changes.ts';
import { clientAddress } from './client-address.ts';
import { clientHeaders } from './client-headers.ts';
import { ending } from './ending.ts';
import { forwarding } from './forwarding.ts';
import { http2 } from './http2.ts';
import { identity } from './identity.ts';
import { limits } from './limits.ts';
import { observed } from './observed.ts';
import { proxyProtocol } from './proxy-protocol.ts';
import { routing } from './routing.ts';
import { streams } from './streams.ts';
import { strictness } from './strictness.ts';
import { tls } from './tls.ts';

export function behavior(make: MakeDriver): void {
  for (const topic of [
    routing,
    answers,
    identity,
    forwarding,
    clientHeaders,
    clientAddress,
    proxyProtocol,
    strictness,
    tls,
    limits,
    streams,
    http2,
    changes,
    observed,
    ending,
  ])
    topic(make);
}
