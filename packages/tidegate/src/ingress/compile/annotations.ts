import {
  BACKEND_PROTOCOL_ANNOTATION,
  BALANCE_ANNOTATION,
  CONNECT_TIMEOUT_ANNOTATION,
  INGRESS_ANNOTATION_PREFIX,
  MAX_BODY_SIZE_ANNOTATION,
  READ_TIMEOUT_ANNOTATION,
  SSL_REDIRECT_ANNOTATION,
} from '../../api/index.ts';
import type { Limits, Upstream } from '../model.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/** How an Ingress wants to be served. */
export interface Wishes {
  readonly protocol: Upstream['protocol'];
  readonly balance: Upstream['balance'];
  readonly limits: Limits;
  readonly redirectToHttps: boolean;
  readonly problems: readonly IngressProblem[];
}

/** Reads a value, or says what may be written instead. */
interface Grammar<V> {
  read(value: string): V | undefined;
  readonly expected: string;
}

const oneOf = <V extends string>(...values: V[]): Grammar<V> => ({
  read: (value) => values.find((each) => each.toLowerCase() === value.toLowerCase()),
  expected: `one of ${values.join(', ')}`,
});

const MILLISECONDS: Record<string, number> = { ms: 1, s: 1000, '': 1000, m: 60_000, h: 3_600_000 };

const durationUpTo = (longest: number, text: string): Grammar<number> => ({
  read(value) {
    const [, digits, unit = ''] = /^([0-9]{1,8})(ms|s|m|h)?$/.exec(value) ?? [];
    const ms = Number(digits) * (MILLISECONDS[unit] ?? Number.NaN);
    return ms > 0 && ms <= longest ? ms : undefined;
  },
  expected: `seconds as 30, or 500ms, 30s, 5m, at most ${text}`,
});

const KIBI = 1024;
const BYTES: Record<string, number> = { '': 1, k: KIBI, m: KIBI ** 2, g: KIBI ** 3 };

const size: Grammar<number> = {
  read(value) {
    const [, digits, unit = ''] = /^([0-9]{1,12})(k|m|g|Ki|Mi|Gi)?$/i.exec(value) ?? [];
    const bytes = Number(digits) * (BYTES[unit.charAt(0).toLowerCase()] ?? Number.NaN);
    return Number.isSafeInteger(bytes) ? bytes : undefined;
  },
  expected: 'bytes as 4096, or 512k, 8m, 1g, or 0 for no limit',
};

export const annotationField = (name: string): string => `metadata.annotations[${name}]`;

/** Only what is known is taken, in the words it is known by; the rest is as if it were not there, and told. */
export function readAnnotations(annotations: Readonly<Record<string, string>> = {}): Wishes {
  const reader = new Reader(annotations);
  const limits = {
    connectTimeoutMs: reader.read(CONNECT_TIMEOUT_ANNOTATION, durationUpTo(75_000, '75s')),
    readTimeoutMs: reader.read(READ_TIMEOUT_ANNOTATION, durationUpTo(24 * 3_600_000, '24h')),
    maxBodyBytes: reader.read(MAX_BODY_SIZE_ANNOTATION, size),
  };
  return {
    protocol: reader.read(BACKEND_PROTOCOL_ANNOTATION, oneOf('http', 'https', 'grpc')) ?? 'http',
    balance: reader.read(BALANCE_ANNOTATION, oneOf('roundRobin', 'leastConnections')) ?? 'roundRobin',
    limits: Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)),
    redirectToHttps: reader.read(SSL_REDIRECT_ANNOTATION, oneOf('true', 'false')) === 'true',
    problems: [...reader.problems, ...reader.unknown()],
  };
}

class Reader {
  readonly problems: IngressProblem[] = [];
  readonly #annotations: Readonly<Record<string, string>>;
  readonly #known: string[] = [];

  constructor(annotations: Readonly<Record<string, string>>) {
    this.#annotations = annotations;
  }

  read<V>(name: string, grammar: Grammar<V>): V | undefined {
    this.#known.push(name);
    const written = this.#annotations[name];
    if (written === undefined) return undefined;
    const value = grammar.read(written.trim());
    if (value === undefined) {
      const message = `${name} can not be ${JSON.stringify(written.slice(0, 100))}; write ${grammar.expected}.`;
      this.problems.push(ingressProblem('InvalidAnnotation', annotationField(name), message));
    }
    return value;
  }

  /** Those that look like ours and have not been read. */
  unknown(): IngressProblem[] {
    return Object.keys(this.#annotations)
      .filter((name) => name.startsWith(INGRESS_ANNOTATION_PREFIX) && !this.#known.includes(name))
      .sort()
      .map((name) => {
        const message = `Nothing is known by the name ${name}; known are ${this.#known.join(', ')}.`;
        return ingressProblem('UnknownAnnotation', annotationField(name), message);
      });
  }
}
