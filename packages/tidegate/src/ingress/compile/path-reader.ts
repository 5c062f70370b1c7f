import type { HostName } from '../model.ts';
import type { IngressOptions } from './annotations.ts';
import { READINGS_LIMIT, ReadingsCount } from './readings-count.ts';
import { REGEX_LIMIT, RegexCount } from './regex-count.ts';
import { isRegex, readPath, type WrittenPath } from './written-path.ts';

type Result = ReturnType<typeof readPath> & { readonly isTooMany?: boolean };

const WITHOUT_HOST: Result = {
  wrong:
    'The path is a regular expression, because of the annotation use-regex or rewrite-target, and its rule has no host. Rules without a host are shared with other namespaces, whose paths the expression could take. It is not served: add a host to the rule.',
};

const TOO_MANY: Result = {
  wrong: `An Ingress can have ${REGEX_LIMIT}. This path and others that follow are not served: use fewer or simpler expressions, or write them for other hosts in other Ingresses.`,
  isTooMany: true,
};

const TOO_MANY_READINGS: Result = {
  wrong: `An Ingress with users, limits or lists of addresses can have ${READINGS_LIMIT}. This path and others that follow are not served: use fewer or shorter paths, or paths without %, ; and backslashes.`,
  isTooMany: true,
};

/** Reads the paths of one Ingress. Each regular expression is compiled once, and only if there are not too many. */
export class PathReader {
  readonly #options: IngressOptions;
  readonly #count = new RegexCount();
  readonly #readings = new ReadingsCount();
  readonly #known = new Map<string, Result>();

  constructor(options: IngressOptions) {
    this.#options = options;
  }

  read(written: WrittenPath, host: HostName): Result {
    if (!isRegex(written, this.#options)) return this.#readLiteral(written);
    if (host === '') return WITHOUT_HOST;
    const { path = '' } = written;
    const known = this.#known.get(path) ?? this.#readRegex(written);
    this.#known.set(path, known);
    return known;
  }

  #readLiteral(written: WrittenPath): Result {
    const result = readPath(written, this.#options);
    const { path } = result.read ?? {};
    if (path === undefined || !this.#options.policies.guards) return result;
    return this.#readings.admits(path) ? result : TOO_MANY_READINGS;
  }

  #readRegex(written: WrittenPath): Result {
    let result: Result | undefined;
    const compile = (): [{ pattern?: NonNullable<Result['read']>['pattern'] }] => {
      result = readPath(written, this.#options);
      return [result.read ?? {}];
    };
    if (!this.#count.admits(written.path ?? '', compile)) return TOO_MANY;
    return result ?? readPath(written, this.#options);
  }

  /** Whether a path of the rule is not served. */
  hasWrong({ host = '', http }: { host?: string; http?: { paths?: readonly WrittenPath[] } }): boolean {
    return (http?.paths ?? []).some((path) => this.read(path, host).wrong !== undefined);
  }
}
