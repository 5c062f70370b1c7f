import {
  BACKEND_PROTOCOL_ANNOTATION,
  BALANCE_ANNOTATION,
  CONNECT_TIMEOUT_ANNOTATION,
  INGRESS_ANNOTATION_PREFIX,
  MAX_BODY_SIZE_ANNOTATION,
  READ_TIMEOUT_ANNOTATION,
  SSL_REDIRECT_ANNOTATION,
} from '../../api/index.ts';
import {
  attachPolicies,
  inheritSettings,
  type PolicyAt,
  type PolicyOrigin,
} from '../attached-policies/index.ts';
import type { Limits, Upstream } from '../model.ts';
import { NGINX_PREFIX, type NginxAnnotations, readNginxAnnotations } from '../nginx-annotations/index.ts';
import { type Effect, type IngressPolicies, type PolicyOwner, readPolicies } from '../policy/index.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/** The settings in the annotations of an Ingress. */
export interface IngressOptions {
  /**
   * Undefined if the Ingress asks for a protocol that Tidegate does not support. It gets the response 503: in another
   * protocol, for example without TLS, the backend might receive what the author did not want to send.
   */
  readonly protocol: BackendProtocol | undefined;
  readonly balance: Upstream['balance'];
  readonly limits: Limits;
  readonly redirectToHttps: boolean;
  /**
   * An annotation asks for a protection that Tidegate does not have, so its hosts are closed: neither the Ingress nor the
   * other Ingresses of these hosts in the same namespace are served.
   */
  readonly closes: boolean;
  /** An annotation is not valid, and the routes of the Ingress must not be served without it. */
  readonly closesRoutes: boolean;
  readonly policies: IngressPolicies;
  readonly problems: readonly IngressProblem[];
  /** The RoutePolicies and ClusterRoutePolicies that apply. */
  readonly origins: readonly PolicyOrigin[];
  /** By section of a policy: the policy and field that names a Secret. */
  readonly secretFields: ReadonlyMap<string, string>;
}

/** `grpcs` is `grpc` over TLS. */
export type BackendProtocol = Upstream['protocol'] | 'grpcs';

/** Parses the value of an annotation. */
interface Grammar<V> {
  /** Undefined if the value is invalid. */
  read(value: string): V | undefined;
  /** Valid values, for the message. */
  readonly expected: string;
  /** What happens with an invalid value, if it is not ignored; a sentence. */
  readonly otherwise?: string;
}

const oneOf = <V extends string>(...values: V[]): Grammar<V> => ({
  read: (value) => values.find((each) => each.toLowerCase() === value.toLowerCase()),
  expected: `one of ${values.join(', ')}`,
});

const PROTOCOL: Grammar<BackendProtocol> = {
  ...oneOf('http', 'https', 'grpc', 'grpcs'),
  otherwise: 'Requests to the backends of the Ingress get the response 503.',
};

/** As with the annotation of ingress-nginx: what was meant to be sent over TLS is not sent without it. */
const REDIRECT: Grammar<'true' | 'false'> = {
  ...oneOf('true', 'false'),
  otherwise: 'All requests for the paths of the Ingress get the response 503.',
};

/** With the names of ingress-nginx too. */
const BALANCE: Grammar<Upstream['balance']> = {
  read(value) {
    const name = value.toLowerCase().replace('_', '');
    if (name === 'leastconn') return 'leastConnections';
    return BALANCES.find((each) => each.toLowerCase() === name);
  },
  expected: 'one of roundRobin, leastConnections, ewma',
};

const BALANCES = ['roundRobin', 'leastConnections', 'ewma'] as const;

const MILLISECONDS: Record<string, number> = { ms: 1, s: 1000, '': 1000, m: 60_000, h: 3_600_000 };

const durationUpTo = (longest: number, text: string): Grammar<number> => ({
  read(value) {
    const [, digits, unit = ''] = /^([0-9]{1,8})(ms|s|m|h)?$/.exec(value) ?? [];
    const ms = Number(digits) * (MILLISECONDS[unit] ?? Number.NaN);
    return ms > 0 && ms <= longest ? ms : undefined;
  },
  expected: `a duration of at most ${text}, for example 500ms, 30s or 5m; a number without a unit means seconds`,
});

const KIBI = 1024;
const BYTES: Record<string, number> = { '': 1, k: KIBI, m: KIBI ** 2, g: KIBI ** 3 };

const size: Grammar<number> = {
  read(value) {
    const [, digits, unit = ''] = /^([0-9]{1,12})(k|m|g|Ki|Mi|Gi)?$/i.exec(value) ?? [];
    const bytes = Number(digits) * (BYTES[unit.charAt(0).toLowerCase()] ?? Number.NaN);
    return Number.isSafeInteger(bytes) ? bytes : undefined;
  },
  expected: 'a size in bytes, for example 4096, 512k, 8m or 1g, or 0 for no limit',
};

export const annotationField = (name: string): string => `metadata.annotations[${name}]`;

/**
 * Reads the annotations of Tidegate and of ingress-nginx, the policies that the Ingress inherits, and the annotations that its
 * class sets for Ingresses without them. Only known values are accepted: nothing that a tenant writes reaches a data plane as text. Invalid and unknown annotations are reported, and
 * ignored unless the grammar says otherwise.
 */
export function readAnnotations(
  written: Readonly<Record<string, string>> = {},
  ingress: PolicyOwner = { namespace: '', name: '' },
  attached: readonly PolicyAt[] = [],
  defaults: Readonly<Record<string, string>> = {},
): IngressOptions {
  const settings = attached.length === 0 ? undefined : inheritSettings(attached, written, defaults);
  const { annotations, fields } = settings ?? { annotations: { ...defaults, ...written }, fields: NO_FIELDS };
  const nginx = readNginxAnnotations(annotations);
  const reader = new Reader(annotations, nginx.aliases, fields);
  const limits = {
    connectTimeoutMs: reader.read(CONNECT_TIMEOUT_ANNOTATION, durationUpTo(75_000, '75s')),
    readTimeoutMs: reader.read(READ_TIMEOUT_ANNOTATION, durationUpTo(24 * 3_600_000, '24h')),
    maxBodyBytes: reader.read(MAX_BODY_SIZE_ANNOTATION, size),
  };
  const read = readPolicies(nginx.policies, ingress);
  // Tidegate's own annotation wins.
  const own = annotations[SSL_REDIRECT_ANNOTATION] === undefined ? read : { ...read, secure: undefined };
  const inherited = settings && attachPolicies(own, attached, settings, ingress);
  const policies = inherited?.policies ?? own;
  const protocol = reader.readOr('http', BACKEND_PROTOCOL_ANNOTATION, PROTOCOL);
  const balance = reader.read(BALANCE_ANNOTATION, BALANCE) ?? 'roundRobin';
  const redirect = reader.readOr('false', SSL_REDIRECT_ANNOTATION, REDIRECT);
  const has = (wanted: Effect): boolean => policies.invalid.some(({ effect }) => effect === wanted);
  return {
    protocol,
    balance,
    limits: {
      ...Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)),
      ...policies.forwarding,
    },
    redirectToHttps: redirect === 'true',
    closes: nginx.refused.length > 0 || has('closesHosts') || inherited?.closes === true,
    closesRoutes: has('closesRoutes') || redirect === undefined || inherited?.closesRoutes === true,
    policies,
    problems: [
      ...reader.problems,
      ...reader.unknown(),
      ...problemsOf(nginx),
      ...invalidOf(policies),
      ...(inherited?.problems ?? []).map(({ reason, field, message }) =>
        ingressProblem(reason, field, message),
      ),
    ],
    origins: inherited?.origins ?? [],
    secretFields: inherited?.secretFields ?? NO_FIELDS,
  };
}

const NO_FIELDS: ReadonlyMap<string, string> = new Map();

const problemsOf = ({ refused, ignored }: NginxAnnotations): IngressProblem[] => [
  ...refused.map(({ annotation, message }) =>
    ingressProblem('AccessControlNotSupported', annotationField(annotation), message),
  ),
  ...ignored.map(({ annotation, message }) =>
    ingressProblem('AnnotationIgnored', annotationField(annotation), message),
  ),
];

/** Admission rejects the Ingress with these words, and events have them for one that was stored nevertheless. */
const CONSEQUENCES: Readonly<Record<Effect, string>> = {
  closesHosts: ' With another value, all requests for the hosts of the Ingress get the response 503.',
  closesRoutes: ' With another value, all requests for the paths of the Ingress get the response 503.',
  ignored: '',
};

const invalidOf = ({ invalid }: IngressPolicies): IngressProblem[] =>
  invalid.map(({ name, message, effect }) =>
    ingressProblem('InvalidAnnotation', annotationField(NGINX_PREFIX + name), message + CONSEQUENCES[effect]),
  );

class Reader {
  readonly problems: IngressProblem[] = [];
  readonly #annotations: Readonly<Record<string, string>>;
  readonly #aliases: NginxAnnotations['aliases'];
  /** By annotation without prefix: the policy and field that it comes from. */
  readonly #fields: ReadonlyMap<string, string>;
  readonly #known: string[] = [];

  constructor(
    annotations: Readonly<Record<string, string>>,
    aliases: NginxAnnotations['aliases'],
    fields: ReadonlyMap<string, string>,
  ) {
    this.#annotations = annotations;
    this.#aliases = aliases;
    this.#fields = fields;
  }

  /** Undefined if the annotation is absent or invalid. */
  read<V>(name: string, grammar: Grammar<V>): V | undefined {
    return this.readOr(undefined, name, grammar);
  }

  /** The default if the annotation is absent; undefined if it is invalid. */
  readOr<V>(absent: V | undefined, name: string, grammar: Grammar<V>): V | undefined {
    this.#known.push(name);
    const used = this.#annotations[name] === undefined ? (this.#aliases.get(name) ?? name) : name;
    const written = this.#annotations[used];
    if (written === undefined) return absent;
    const value = grammar.read(written.trim());
    if (value === undefined) {
      const { expected, otherwise = '' } = grammar;
      const message = `Invalid value ${JSON.stringify(written.slice(0, 100))}: write ${expected}. ${otherwise}`;
      const inherited = this.#fields.get(used.slice(used.indexOf('/') + 1));
      this.problems.push(
        inherited === undefined
          ? ingressProblem('InvalidAnnotation', annotationField(used), message.trim())
          : ingressProblem('InvalidPolicy', inherited, message.trim()),
      );
    }
    return value;
  }

  /** Annotations with the prefix of Tidegate that `read` was not called for. */
  unknown(): IngressProblem[] {
    return Object.keys(this.#annotations)
      .filter((name) => name.startsWith(INGRESS_ANNOTATION_PREFIX) && !this.#known.includes(name))
      .sort()
      .map((name) => {
        const message = `Unknown annotation ${name}. Supported annotations: ${this.#known.join(', ')}.`;
        return ingressProblem('UnknownAnnotation', annotationField(name), message);
      });
  }
}
