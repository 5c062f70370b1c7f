import type { KubeObject } from '@tidegate/kube';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyDelta, EMPTY_TABLE } from '../match/index.ts';
import type { Changes, Delta } from '../model.ts';
import { anyIngress, HOSTS, NAMESPACES, SECRETS, SERVICES } from '../testing/any-ingress.ts';
import { TestAuthority } from '../testing/certificates.ts';
import { CLASS, hostClaim, secret, service, slice } from '../testing/objects.ts';
import { Compiler, type Inputs } from './compiler.ts';
import { InvalidSecretError, readTlsSecret } from './tls-secret.ts';

const authority = new TestAuthority();
const PAIRS = [
  authority.issue(['a.x.io']),
  authority.issue(['*.x.io', 'b.y.io']),
  authority.issue(['b.y.io'], { days: -1 }),
  { certificate: 'none', key: 'none' },
];

const namespace = fc.constantFrom(...NAMESPACES);

const anyService = fc
  .tuple(fc.constantFrom(...SERVICES), namespace, fc.constantFrom(['http:80'], ['http:80', 'more:81'], []))
  .map(([name, where, ports]) => service(name, ports, where));

const anySlice = fc
  .tuple(
    fc.constantFrom(...SERVICES),
    namespace,
    fc.constantFrom('slice-1', 'slice-2'),
    fc.dictionary(
      fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3'),
      fc.constantFrom({}, { ready: false }, { ready: false, serving: true, terminating: true }),
    ),
  )
  .map(([of, where, name, endpoints]) =>
    slice(of, endpoints, { name, namespace: where, ports: { http: 8080, more: 8081 } }),
  );

const anySecret = fc
  .tuple(fc.constantFrom(...SECRETS), namespace, fc.nat(PAIRS.length - 1))
  .map(([name, where, pair]) => secret(name, PAIRS[pair]!, { namespace: where }));

const anyClass = fc.constantFrom('tidegate.io/nginx', 'other.io/nginx').map((controller) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name: CLASS },
  spec: { controller },
}));

const anyClaim = fc
  .tuple(fc.constantFrom('*', ...HOSTS), namespace, fc.nat(3), fc.constantFrom(CLASS, CLASS, 'silver'))
  .map(([host, where, since, className]) => hostClaim(host, where, { since, className }));

type Kind = keyof Inputs;
type Step =
  | { readonly do: 'put' | 'remove'; readonly kind: Kind; readonly object: KubeObject }
  | { readonly do: 'place'; readonly hosts: string[] | undefined }
  | { readonly do: 'flush' };

const change = (kind: Kind, object: fc.Arbitrary<KubeObject>, weight: number) => ({
  weight,
  arbitrary: fc.record({
    do: fc.constantFrom('put' as const, 'put' as const, 'remove' as const),
    kind: fc.constant(kind),
    object,
  }),
});

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  change('Ingress', anyIngress, 8),
  change('HostClaim', anyClaim, 4),
  change('Service', anyService, 3),
  change('EndpointSlice', anySlice, 3),
  change('Secret', anySecret, 3),
  change('IngressClass', anyClass, 1),
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('place' as const),
      hosts: fc.option(fc.uniqueArray(fc.constantFrom(...HOSTS)), {
        nil: undefined,
      }),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'flush' } as const) },
);

/** Objects to start with, so that the random changes have something to change. */
const EVERYTHING: readonly Step[] = NAMESPACES.flatMap((where) => [
  ...SERVICES.flatMap((name): Step[] => [
    { do: 'put', kind: 'Service', object: service(name, ['http:80', 'more:81'], where) },
    { do: 'put', kind: 'EndpointSlice', object: slice(name, { '10.0.0.1': {} }, { namespace: where }) },
  ]),
  ...SECRETS.map(
    (name, at): Step => ({
      do: 'put',
      kind: 'Secret',
      object: secret(name, PAIRS[at]!, { namespace: where }),
    }),
  ),
]);

const keyOf = ({ metadata }: KubeObject): string =>
  metadata.namespace === undefined ? `${metadata.name}` : `${metadata.namespace}/${metadata.name}`;

/** The objects at the end. For a Secret that has become invalid, also its last valid content. */
class Final {
  hosts: string[] | undefined;
  readonly #objects = new Map<string, { kind: Kind; object: KubeObject }[]>();

  take(step: Step): void {
    if (step.do === 'place') this.hosts = step.hosts;
    if (step.do === 'flush' || step.do === 'place') return;
    const { kind, object } = step;
    const id = `${kind} ${keyOf(object)}`;
    if (step.do === 'remove') this.#objects.delete(id);
    else {
      const good = kind === 'Secret' ? this.#objects.get(id)?.filter((each) => isGood(each.object)) : [];
      this.#objects.set(id, [...(good ?? []), { kind, object }]);
    }
  }

  compile(claimsRequired: boolean): Compiler {
    const compiler = newCompiler(claimsRequired);
    if (this.hosts !== undefined) compiler.setServedHosts(this.hosts);
    for (const { kind, object } of [...this.#objects.values()].flat()) compiler.put(kind, object as never);
    return compiler;
  }
}

function isGood(object: KubeObject): boolean {
  try {
    return readTlsSecret(object as Inputs['Secret']) !== undefined;
  } catch (error) {
    if (error instanceof InvalidSecretError) return false;
    throw error;
  }
}

const newCompiler = (claimsRequired: boolean): Compiler =>
  new Compiler({ classNames: [CLASS], claimsRequired, now: Date.now });

/** Applies the results of all flushes. */
class Listener {
  table = EMPTY_TABLE;
  readonly #outcomes = new Map<string, unknown>();
  readonly #secrets = new Map<string, unknown>();

  receive(compiler: Compiler): void {
    const { delta, outcomes, secrets } = compiler.flush();
    if (delta !== undefined) this.table = applyDelta(this.table, delta);
    take(this.#outcomes, outcomes, ({ ingress: key }) => key);
    take(this.#secrets, secrets, (key) => key);
  }

  state(): unknown {
    const { hosts, upstreams, certificates } = this.table;
    return [hosts, upstreams, certificates, this.#outcomes, this.#secrets].map((map) =>
      sorted(map.entries()),
    );
  }
}

function take<V>(
  map: Map<string, unknown>,
  { set, remove }: Changes<string, V>,
  key: (value: V) => string,
): void {
  // A removal must be of something that was reported before.
  for (const each of remove) expect(map.delete(each)).toBe(true);
  for (const value of set) map.set(key(value), value);
}

const sorted = (entries: Iterable<[string, unknown]>): [string, unknown][] =>
  [...entries].sort(([a], [b]) => (a < b ? -1 : 1));

const stateOf = ({ hosts, upstreams, certificates }: Delta): unknown[] => [
  sorted(hosts.set.map((value) => [value.host, value])),
  sorted(upstreams.set.map((value) => [value.id, value])),
  sorted(certificates.set.map((value) => [value.host, value])),
];

test('incremental changes give the same result as compiling the final objects from scratch', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 30, size: 'max' }), fc.boolean(), (changes, required) => {
      const steps = [...EVERYTHING, ...changes];
      const compiler = newCompiler(required);
      const listener = new Listener();
      const final = new Final();
      for (const step of steps) {
        final.take(step);
        if (step.do === 'flush') listener.receive(compiler);
        else if (step.do === 'place') compiler.setServedHosts(step.hosts);
        else if (step.do === 'put') compiler.put(step.kind, step.object as never);
        else compiler.remove(step.kind, keyOf(step.object));
      }
      listener.receive(compiler);
      const atOnce = new Listener();
      const scratch = final.compile(required);
      atOnce.receive(scratch);
      expect(listener.state()).toEqual(atOnce.state());
      expect(stateOf(compiler.snapshot())).toEqual(stateOf(scratch.snapshot()));
      const { hosts, upstreams } = atOnce.table;
      for (const { routes, fallback } of hosts.values()) {
        for (const { backends } of [...routes.map(({ action }) => action), ...(fallback ? [fallback] : [])]) {
          for (const { upstream } of backends) expect(upstreams.has(upstream)).toBe(true);
        }
      }
    }),
    { numRuns: 200 },
  );
});
