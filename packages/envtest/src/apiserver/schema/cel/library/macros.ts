/**
 * Macros with two variables: `list.all(index, value, ...)`, `map.exists(key, value, ...)`, `transformList` and
 * others.
 */
import type {
  ASTNode,
  Environment,
  OverlayContext,
  RootContext,
  TypeDeclaration,
} from '@marcbachmann/cel-js';

type Scope = RootContext | OverlayContext;

/** The parts of cel-js that macros need and its types do not declare. */
interface Checker {
  check(node: ASTNode, scope: Scope): TypeDeclaration;
  getType(name: string): TypeDeclaration;
}
interface Evaluator {
  run(node: ASTNode, scope: Scope): unknown;
}
type ReusableScope = OverlayContext & { reuse(parent: Scope): OverlayContext };

interface MacroCall {
  args: ASTNode[];
  receiver: ASTNode;
}

type Entry = [key: unknown, value: unknown];
/** `test(entry, n)` evaluates the n-th argument after the two variables for an entry. */
type Fold = (entries: Entry[], test: (entry: Entry, argument: number) => unknown) => unknown;

export function registerMacros(environment: Environment): void {
  const define = (name: string, extraArguments: number, returns: string, fold: Fold): void => {
    const parameters = Array.from({ length: 2 + extraArguments }, () => 'ast').join(', ');
    const signature = `list.${name}(${parameters}): ${returns}`;
    environment.registerFunction(signature, (call: MacroCall) => expand(call, returns, fold));
  };
  define('all', 1, 'bool', (entries, test) => entries.every((entry) => test(entry, 0) === true));
  define('exists', 1, 'bool', (entries, test) => entries.some((entry) => test(entry, 0) === true));
  const exactlyOne: Fold = (entries, test) => entries.filter((entry) => test(entry, 0) === true).length === 1;
  define('exists_one', 1, 'bool', exactlyOne);
  define('existsOne', 1, 'bool', exactlyOne);
  define('transformList', 1, 'list<dyn>', (entries, test) => entries.map((entry) => test(entry, 0)));
  define('transformList', 2, 'list<dyn>', (entries, test) =>
    entries.filter((entry) => test(entry, 0) === true).map((entry) => test(entry, 1)),
  );
  define('transformMap', 1, 'dyn', (entries, test) =>
    toMap(entries.map((entry) => [entry[0], test(entry, 0)])),
  );
  define('transformMap', 2, 'dyn', (entries, test) =>
    toMap(entries.filter((entry) => test(entry, 0) === true).map((entry) => [entry[0], test(entry, 1)])),
  );
}

function expand({ args, receiver }: MacroCall, returns: string, fold: Fold): object {
  const [first, second, ...bodies] = args;
  const names = [first, second].map((node) => {
    if (node?.op !== 'id') throw new Error('argument must be a simple name');
    return node.args;
  });
  let outer: ReusableScope | undefined;
  let inner: ReusableScope | undefined;
  return {
    typeCheck(checker: Checker, _: unknown, scope: Scope): TypeDeclaration {
      checker.check(receiver, scope);
      const dyn = checker.getType('dyn');
      outer = scope.forkWithVariable(names[0] ?? '', dyn) as ReusableScope;
      inner = outer.forkWithVariable(names[1] ?? '', dyn) as ReusableScope;
      for (const body of bodies) checker.check(body, inner);
      return checker.getType(returns);
    },
    evaluate(evaluator: Evaluator, _: unknown, scope: Scope): unknown {
      return fold(entriesOf(evaluator.run(receiver, scope)), ([key, value], argument) => {
        const body = bodies[argument];
        if (outer === undefined || inner === undefined || body === undefined) return undefined;
        const withKey = outer.reuse(scope).setIterValue(key, evaluator);
        return evaluator.run(body, inner.reuse(withKey).setIterValue(value, evaluator));
      });
    },
  };
}

function entriesOf(value: unknown): Entry[] {
  if (Array.isArray(value)) return value.map((item, index) => [BigInt(index), item]);
  if (value instanceof Map) return [...value.entries()];
  if (typeof value === 'object' && value !== null) return Object.entries(value);
  throw new Error('no such overload');
}

const toMap = (entries: Entry[]): Record<string, unknown> =>
  Object.fromEntries(entries.map(([key, value]) => [String(key), value]));
