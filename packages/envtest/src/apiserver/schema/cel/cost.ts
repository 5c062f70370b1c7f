/**
 * Limits the cost of CEL expressions. A short expression with loops inside loops can take longer than any server has, and
 * it runs on the thread that serves all other requests. The units and the limits are those of kube-apiserver, and the
 * cost of an expression is close to its: one for each part that is evaluated, and a tenth of the size of what an operator
 * or a function has to read.
 */
import type { ASTNode, Environment } from '@marcbachmann/cel-js';

/** The most that a single expression may cost. */
export const EXPRESSION_LIMIT = 1_000_000;
/** The most that all expressions for one object may cost together. */
const OBJECT_BUDGET = 10_000_000;
/** The most that all conditions of a webhook or a policy may cost together. */
export const CONDITIONS_BUDGET = 2_500_000;
export const EXHAUSTED =
  'validation failed due to running out of cost budget, no further validation rules will be run';

/** The expression was stopped because it costs more than the limit. */
export class CostError extends Error {
  override readonly name = 'CostError';
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/** What is left for several expressions. Negative if they cost too much. */
export class Budget {
  left: number;

  constructor(units = OBJECT_BUDGET) {
    this.left = units;
  }
}

/** Runs an evaluation and throws a CostError if it costs too much. What it costs is taken from the budget. */
export type Meter = <T>(evaluate: () => T, budget: Budget | undefined) => T;

/** The part of cel-js that evaluates every part of an expression except the root. Its types do not declare it. */
interface Evaluator {
  run(node: ASTNode, scope: unknown): unknown;
}
type Evaluable = Omit<ASTNode, 'evaluate'> & { evaluate: (evaluator: Evaluator) => unknown };

/** The evaluation that runs now. Evaluations are synchronous, and one may contain another. */
let current: { spent: number } | undefined;

/** Makes the evaluator of an environment count. `root` is the expression that will be evaluated. */
export function meterOf(environment: Environment, root: ASTNode): Meter {
  const costly: Operands = { all: new WeakSet(), text: new WeakSet() };
  const evaluator = evaluatorOf(environment);
  const run = evaluator.run.bind(evaluator);
  evaluator.run = (node, scope) => {
    noteOperands(node, costly);
    charge(1);
    const result = run(node, scope);
    if (costly.all.has(node) || (typeof result === 'string' && costly.text.has(node))) {
      charge(Math.floor(sizeOf(result) / 10));
    }
    return result;
  };
  noteOperands(root, costly);
  return metered;
}

function metered<T>(evaluate: () => T, budget: Budget | undefined): T {
  const outer = current;
  const own = { spent: 0 };
  current = own;
  try {
    const result = evaluate();
    // Some macros go on after an error in their body. That must not hide the reason.
    if (own.spent > EXPRESSION_LIMIT) throw new CostError();
    return result;
  } catch (error) {
    throw own.spent > EXPRESSION_LIMIT ? new CostError() : error;
  } finally {
    current = outer;
    if (outer !== undefined) outer.spent += own.spent;
    if (budget !== undefined) budget.left -= own.spent;
  }
}

function charge(units: number): void {
  if (current === undefined) return;
  current.spent += units;
  if (current.spent > EXPRESSION_LIMIT) throw new CostError();
}

/** The library passes its evaluator to the root of an expression, and offers no other way to it. */
function evaluatorOf(environment: Environment): Evaluator {
  const probe = environment.parse('true');
  let found: Evaluator | undefined;
  (probe.ast as unknown as Evaluable).evaluate = (evaluator) => {
    found = evaluator;
    return true;
  };
  probe({});
  if (found === undefined) throw new Error('cel-js did not pass its evaluator; the cost cannot be limited');
  return found;
}

const READS_OPERANDS = new Set(['==', '!=', 'in', '+', 'call', 'rcall']);
/** These read text, but only look at lists and objects. */
const CHEAP_FUNCTIONS = new Set(['size', 'has', 'type', 'dyn', 'hasValue', 'value', 'orValue', 'of']);

/** The parts of an expression whose size counts: always, or only if they are text. */
interface Operands {
  all: WeakSet<ASTNode>;
  text: WeakSet<ASTNode>;
}

/** Remembers the operands whose size counts. A macro is not a function: its loop counts by itself. */
function noteOperands(node: ASTNode, costly: Operands): void {
  if (!READS_OPERANDS.has(node.op)) return;
  const { alternate, macro } = (node as unknown as { meta: { alternate?: unknown; macro?: unknown } }).meta;
  if (alternate !== undefined || macro !== undefined) return;
  const parts = (node.args as unknown[]).flat();
  const isCheap = typeof parts[0] === 'string' && CHEAP_FUNCTIONS.has(parts[0]);
  const set = isCheap ? costly.text : costly.all;
  for (const part of parts) if (typeof part === 'object' && part !== null) set.add(part as ASTNode);
}

const sizes = new WeakMap<object, number>();

/** How much there is to read in a value: characters, items and fields at any depth. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  const items = Array.isArray(value) || value instanceof Map ? [...value.values()] : Object.values(value);
  let size = items.length;
  for (const item of items) size += sizeOf(item);
  sizes.set(value, size);
  return size;
}
