import { setImmediate as turn } from 'node:timers/promises';
import { keyOf } from '@tidegate/kube';
import { ruleBehind } from '../model/explain.ts';
import { nginxAnswer } from '../model/nginx-answer.ts';
import type { RuleName } from '../model/rules.ts';
import type { TidegateSide } from '../model/tidegate-side.ts';
import type { TestRequest } from '../requests.ts';
import { type Difference, differencesOf } from './compare.ts';
import type { Models } from './models.ts';
import { type Received, type Side, send } from './send.ts';

export interface VerifyOptions {
  readonly old: Side;
  readonly new: Side;
  readonly models: Models;
  /** How many requests are under way at the same time. */
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** Names of headers in lower case, `body` or `certificate`. */
  readonly ignored: ReadonlySet<string>;
  /** Differences with these rules do not count. */
  readonly accepted: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

export interface Explained extends Difference {
  readonly rule: RuleName | 'unexplained';
}

/** A request that the controllers answer differently. */
export interface Finding {
  readonly request: TestRequest;
  readonly differences: readonly Explained[];
  readonly isAccepted: boolean;
}

/** A request without an answer of one of both. */
export interface Failure {
  readonly request: TestRequest;
  readonly side: 'old' | 'new';
  readonly message: string;
}

export interface Verification {
  readonly sent: number;
  readonly same: number;
  readonly findings: readonly Finding[];
  readonly failures: readonly Failure[];
  /** How many responses differ from request to request at the old controller. These parts are not compared. */
  readonly unstable: number;
}

/** How often the old controller is asked again whether a difference is one of two of its own responses. */
const REPEATS = 3;

/** Sends each request to both controllers and compares the responses. */
export async function verify(
  requests: readonly TestRequest[],
  options: VerifyOptions,
): Promise<Verification> {
  const findings: Finding[] = [];
  const failures: Failure[] = [];
  let unstable = 0;
  let same = 0;
  const queue = [...requests].reverse();
  const work = async (): Promise<void> => {
    for (let request = queue.pop(); request !== undefined; request = queue.pop()) {
      options.signal.throwIfAborted();
      const result = await verifyOne(request, options);
      if ('message' in result) failures.push(result);
      else {
        if (result.isUnstable) unstable++;
        if (result.differences.length === 0) same++;
        else findings.push(findingOf(request, result.differences, options));
      }
      await turn();
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  const order = new Map(requests.map((request, index) => [request, index]));
  const byOrder = (a: { request: TestRequest }, b: { request: TestRequest }): number =>
    order.get(a.request)! - order.get(b.request)!;
  return {
    sent: requests.length,
    same,
    findings: findings.sort(byOrder),
    failures: failures.sort(byOrder),
    unstable,
  };
}

type Result = { differences: Difference[]; isUnstable: boolean } | Failure;

async function verifyOne(request: TestRequest, options: VerifyOptions): Promise<Result> {
  const ask = (side: 'old' | 'new'): Promise<Received | Failure> =>
    send(options[side], request, options).catch((error: unknown) => {
      options.signal.throwIfAborted();
      return { request, side, message: messageOf(error) };
    });
  const [old, now] = await Promise.all([ask('old'), ask('new')]);
  if ('message' in old) return old;
  if ('message' in now) return now;
  let differences = differencesOf(old, now, options.ignored);
  let isUnstable = false;
  for (let count = 0; count < REPEATS && differences.length > 0; count++) {
    const again = await ask('old');
    if ('message' in again) return again;
    const own = new Set(differencesOf(old, again, options.ignored).map(({ part }) => part));
    if (own.size === 0) continue;
    isUnstable = true;
    differences = differences.filter(({ part }) => !own.has(part));
  }
  return { differences, isUnstable };
}

/** Errors of several connection attempts have no message of their own. */
const messageOf = (error: unknown): string =>
  error instanceof AggregateError
    ? error.errors.map((each) => `${(each as Error).message}`).join('; ')
    : (error as Error).message;

function findingOf(
  request: TestRequest,
  differences: readonly Difference[],
  { models, accepted }: VerifyOptions,
): Finding {
  const routing = routingRule(request, models);
  const isShared = usesSharedService(request, models);
  const explained = differences.map((each) => ({ ...each, rule: ruleOf(each, routing, isShared) }));
  return { request, differences: explained, isAccepted: explained.every(({ rule }) => accepted.has(rule)) };
}

/** The rule behind another route, if the models expect one. */
function routingRule(request: TestRequest, { servers, settings, tidegate }: Models): RuleName | undefined {
  const old = nginxAnswer(servers, settings, request);
  const now = tidegate.answer(request);
  const isSame = JSON.stringify(shapeOf(old.answer)) === JSON.stringify(shapeOf(now));
  if (!isSame) return ruleBehind(request, old, now, tidegate);
  // The same backend gets another path.
  return old.rules.includes('normalization') ? 'normalization' : undefined;
}

const shapeOf = (answer: ReturnType<TidegateSide['answer']>): unknown[] =>
  answer.kind === 'backend' ? [answer.backend] : [answer.kind, answer.status];

function ruleOf(
  { part, old, new: now }: Difference,
  routing: RuleName | undefined,
  isShared: boolean,
): RuleName | 'unexplained' {
  if (part === 'header strict-transport-security') return 'hsts';
  if (part.startsWith('body of')) return 'ownResponse';
  if (part === 'header location' && now.startsWith('https:') && now.replace(/\/(?=\?|$)/, '') === old)
    return 'redirectSlash';
  if (part === 'header set-cookie' && isShared) return 'sharedService';
  return part === 'certificate' ? 'unexplained' : (routing ?? 'unexplained');
}

/** Several Ingresses use the Service that ingress-nginx sends the request to. */
function usesSharedService(request: TestRequest, { servers, settings }: Models): boolean {
  const { answer } = nginxAnswer(servers, settings, request);
  if (answer.kind !== 'backend') return false;
  return [...servers.values()].some(({ locations }) =>
    locations.some(({ backend, ingress }) => backend === answer.backend && keyOf(ingress) !== answer.ingress),
  );
}
