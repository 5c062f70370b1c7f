import { type ConfigMap, keyOf, type Secret, SetsByKey } from '@tidegate/kube';
import type { Changes, Credentials } from '../model.ts';
import { InvalidUsersError, readUsers } from '../passwords/index.ts';
import {
  type CredentialsReference,
  credentialsReference,
  InvalidHeadersError,
  readHeaders,
} from '../policy/index.ts';
import { InvalidAuthoritiesError, readAuthorities } from './authorities.ts';
import { InvalidClientPairError, readClientPair } from './client-pair.ts';
import type { IngressFacts } from './facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/** The size of the users and authorities of a namespace in JSON. All tenants share the memory of a router. */
const MOST_CHARACTERS = 4_000_000;

/** What is known about a Secret with users or authorities. */
interface State {
  readonly credentials?: Credentials;
  readonly characters: number;
  /** Why no client can authenticate, or some users cannot. */
  readonly wrong: readonly string[];
}

/**
 * The Secrets with users of basic authentication, and with authorities of client certificates, and the ConfigMaps with headers,
 * that Ingresses name. Unlike a certificate, an invalid one is not replaced by its previous content: a user may have been removed
 * from it.
 */
export class CredentialTable {
  /** The data of Secrets and ConfigMaps that an Ingress may name, by `sourceOf`. */
  readonly #secrets = new Map<string, Secret['data']>();
  readonly #ingresses = new SetsByKey();
  readonly #idsOfSecret = new SetsByKey();
  /** The state of each ID, without regard to others. */
  readonly #read = new Map<string, State>();
  /** By namespace, the IDs that have users. */
  readonly #idsOfNamespace = new SetsByKey();
  /** What remains of the states if each namespace has its share. */
  readonly #states = new Map<string, State>();
  readonly #dirty = new Set<string>();

  claim({ key, credentials }: IngressFacts): void {
    for (const each of credentials) {
      this.#ingresses.add(each.id, key);
      this.#idsOfSecret.add(sourceOf(each), each.id);
      this.#dirty.add(each.id);
    }
  }

  release({ key, credentials }: IngressFacts): void {
    for (const each of credentials) {
      this.#ingresses.delete(each.id, key);
      if (this.#ingresses.get(each.id).size === 0) this.#idsOfSecret.delete(sourceOf(each), each.id);
      this.#dirty.add(each.id);
    }
  }

  putSecret(secret: Secret): void {
    this.#secrets.set(keyOf(secret), secret.data);
    this.#mark(keyOf(secret));
  }

  removeSecret(key: string): void {
    this.#secrets.delete(key);
    this.#mark(key);
  }

  putConfigMap(configMap: ConfigMap): void {
    const source = sourceOfConfigMap(keyOf(configMap));
    this.#secrets.set(source, configMap.data);
    this.#mark(source);
  }

  removeConfigMap(key: string): void {
    this.removeSecret(sourceOfConfigMap(key));
  }

  /** The Ingresses whose users these are. */
  ingressesWith(id: string): Iterable<string> {
    return this.#ingresses.get(id);
  }

  all(): Credentials[] {
    return [...this.#states.values()].flatMap(({ credentials }) => credentials ?? []);
  }

  /** `note` gets the Ingresses whose users have changed. */
  flush(note: (ingresses: Iterable<string>) => void): Changes<string, Credentials> {
    const set: Credentials[] = [];
    const remove: string[] = [];
    const namespaces = new Set<string>();
    const changed = new Set(this.#dirty);
    for (const id of this.#dirty) {
      const reference = credentialsReference(id);
      const namespace = reference.secret.slice(0, reference.secret.indexOf('/'));
      namespaces.add(namespace);
      const state = this.#ingresses.get(id).size === 0 ? undefined : this.#readSecret(reference);
      if (state === undefined) this.#read.delete(id);
      else this.#read.set(id, state);
      this.#idsOfNamespace[state?.credentials === undefined ? 'delete' : 'add'](namespace, id);
    }
    // The share of a Secret depends on the other Secrets of its namespace only.
    for (const namespace of namespaces) for (const id of this.#idsOfNamespace.get(namespace)) changed.add(id);
    const withoutRoom = new Set([...namespaces].flatMap((namespace) => this.#withoutRoom(namespace)));
    for (const id of changed) {
      const before = this.#states.get(id);
      const read = this.#read.get(id);
      const state = read !== undefined && withoutRoom.has(id) ? tooLarge(read) : read;
      if (state === undefined) this.#states.delete(id);
      else this.#states.set(id, state);
      const after = state?.credentials;
      if (after !== undefined && JSON.stringify(after) !== JSON.stringify(before?.credentials))
        set.push(after);
      if (after === undefined && before?.credentials !== undefined) remove.push(id);
      if (this.#dirty.has(id) || after === undefined || before?.credentials === undefined)
        note(this.#ingresses.get(id));
    }
    this.#dirty.clear();
    return { set, remove };
  }

  /** The IDs beyond the share of the namespace: the largest, so that one Secret does not close many others. */
  #withoutRoom(namespace: string): string[] {
    let left = MOST_CHARACTERS;
    const sizes = [...this.#idsOfNamespace.get(namespace)].map((id): [string, number] => [
      id,
      this.#read.get(id)?.characters ?? 0,
    ]);
    return sizes
      .sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
      .flatMap(([id, characters]) => {
        left -= characters;
        return left < 0 ? [id] : [];
      });
  }

  problemsOf({ credentials }: IngressFacts): IngressProblem[] {
    return credentials.flatMap((reference) => {
      const { id, secret, field, kind, headers } = reference;
      const state = this.#states.get(id);
      const { what, scope, notFound, invalid } = TEXTS[kind];
      const named = `${headers === undefined ? 'Secret' : 'ConfigMap'} ${secret}`;
      if (state === undefined || !this.#secrets.has(sourceOf(reference))) {
        const message = `${named} with the ${what} of the Ingress not found. All requests for its ${scope} get the response 503.`;
        return [ingressProblem(notFound, field, message)];
      }
      const [first] = state.wrong;
      if (first === undefined) return [];
      const effect =
        state.credentials === undefined
          ? `All requests for the ${scope} of the Ingress get the response 503.`
          : `${state.wrong.length} users cannot authenticate.`;
      const message = `${named} with the ${what} of the Ingress is invalid: ${first}. ${effect}`;
      return [ingressProblem(invalid, field, message)];
    });
  }

  #mark(secret: string): void {
    for (const id of this.#idsOfSecret.get(secret)) this.#dirty.add(id);
  }

  #readSecret(reference: CredentialsReference): State {
    const { id, kind, headers: source } = reference;
    const key = sourceOf(reference);
    const data = this.#secrets.get(key);
    if (data === undefined && !this.#secrets.has(key)) return { wrong: [], characters: 0 };
    try {
      if (source !== undefined) {
        const headers = readHeaders(data ?? {}, source);
        const characters = JSON.stringify(headers).length;
        return { credentials: { id, users: {}, headers }, wrong: [], characters };
      }
      if (kind === 'authorities') {
        const authorities = readAuthorities(data ?? {});
        const characters = JSON.stringify(authorities).length;
        return { credentials: { id, users: {}, authorities }, wrong: [], characters };
      }
      if (kind === 'client' || kind === 'verifying') {
        const client = readClientPair(data ?? {}, kind === 'verifying');
        return {
          credentials: { id, users: {}, client },
          wrong: [],
          characters: JSON.stringify(client).length,
        };
      }
      const { users, wrong } = readUsers(data ?? {}, kind === 'map' ? 'map' : 'file');
      return { credentials: { id, users }, wrong, characters: JSON.stringify(users).length };
    } catch (error) {
      if (!EXPECTED.some((each) => error instanceof each)) throw error;
      return { wrong: [(error as Error).message], characters: 0 };
    }
  }
}

/** A Secret and a ConfigMap can have the same name. */
const sourceOf = ({ secret, headers }: CredentialsReference): string =>
  headers === undefined ? secret : sourceOfConfigMap(secret);

const sourceOfConfigMap = (key: string): string => `configmaps/${key}`;

const EXPECTED = [InvalidHeadersError, InvalidUsersError, InvalidAuthoritiesError, InvalidClientPairError];

/** What problems call the content of a Secret, and what is closed without it. */
const USERS_TEXTS = {
  what: 'users',
  scope: 'paths',
  notFound: 'UsersNotFound',
  invalid: 'InvalidUsers',
} as const;
const CLIENT_TEXTS = {
  what: 'certificate for backends',
  scope: 'paths',
  notFound: 'BackendCertificateNotFound',
  invalid: 'InvalidBackendCertificate',
} as const;
const HEADERS_TEXTS = {
  what: 'headers',
  scope: 'paths',
  notFound: 'HeadersNotFound',
  invalid: 'InvalidHeaders',
} as const;
const TEXTS = {
  file: USERS_TEXTS,
  map: USERS_TEXTS,
  responseHeaders: HEADERS_TEXTS,
  authHeaders: HEADERS_TEXTS,
  client: CLIENT_TEXTS,
  verifying: CLIENT_TEXTS,
  authorities: {
    what: 'certificate authorities',
    scope: 'hosts',
    notFound: 'AuthoritiesNotFound',
    invalid: 'InvalidAuthorities',
  },
} as const;

const tooLarge = ({ characters }: State): State => ({
  wrong: [
    `its users take ${characters} characters, and all Secrets with users of a namespace can have ${MOST_CHARACTERS}: use fewer users, or the same Secret in several Ingresses`,
  ],
  characters,
});
