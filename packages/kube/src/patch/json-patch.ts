/**
 * JSON Patch, RFC 6902. A patch is atomic: it applies as a whole, or throws and leaves the document as it was. To keep
 * that cheap for large documents, only the maps and lists on the way to a change are copied, each the first time that an
 * operation reaches it; the result shares everything else with the input.
 */
import { type JsonMap, jsonEqual } from '../base/json.ts';
import { MAX_JSON_BYTES, MAX_JSON_DEPTH, measureJson } from '../base/json-size.ts';
import { Failure, JsonPatchError, type JsonPatchProblem } from './json-patch-error.ts';
import { containerAt, type JsonPatchDialect, type Place, placeIn } from './json-patch-place.ts';
import { parsePointer } from './json-pointer.ts';

/** Fields are checked when the operation runs: patches come from users. */
export interface JsonPatchOperation {
  op?: unknown;
  path?: unknown;
  from?: unknown;
  value?: unknown;
}

/**
 * The limits of kube-apiserver: a patch of a few bytes can double a document with every operation. The size of the result is
 * not limited otherwise, because what a patch adds without copies is as large as the patch.
 */
const MAX_OPERATIONS = 10_000;
const MAX_COPIED_BYTES = MAX_JSON_BYTES;
/** Ten thousand insertions at the front of a list that they fill, which takes less than a second. */
const MAX_SHIFTS = 50_000_000;

/** What the operations of a patch have cost, for callers with a limit for many patches together. */
export interface JsonPatchCost {
  copiedBytes: number;
  shifts: number;
}

/**
 * Returns the document with all operations applied in order. Throws a JsonPatchError. Adds what it did to `cost`; the limits
 * of a patch count what `cost` contains already.
 *
 * @example
 * applyJsonPatch({ spec: { replicas: 1 } }, [{ op: 'replace', path: '/spec/replicas', value: 3 }]);
 * // { spec: { replicas: 3 } }
 */
export function applyJsonPatch<T>(
  document: T,
  operations: readonly JsonPatchOperation[],
  dialect: JsonPatchDialect = 'rfc6902',
  cost: JsonPatchCost = { copiedBytes: 0, shifts: 0 },
): T {
  const run = new Run(document, dialect, cost);
  for (const [index, operation] of operations.entries()) {
    const failed = (problem: JsonPatchProblem): JsonPatchError =>
      new JsonPatchError(index, { problem, side: 'path', pointer: operation.path });
    if (index >= MAX_OPERATIONS) throw failed('too many operations');
    try {
      run.apply(operation);
    } catch (error) {
      if (error instanceof Failure) throw new JsonPatchError(index, error.failure);
      throw error;
    }
    const isLast = index === operations.length - 1;
    // Values that operations add below each other can be deeper together than each of them.
    if (isLast && measureJson(run.document, ANY_SIZE) === 'too deep') throw failed('too deep');
  }
  return run.document as T;
}

const ANY_SIZE = { bytes: Number.POSITIVE_INFINITY, depth: MAX_JSON_DEPTH };

class Run {
  /** Holds the document in the field '', so that the whole document has a parent like every other value. */
  readonly #root: JsonMap;
  /** The maps and lists that this run has copied, and may change. */
  readonly #owned: Set<object>;
  readonly #dialect: JsonPatchDialect;
  readonly #cost: JsonPatchCost;

  constructor(document: unknown, dialect: JsonPatchDialect, cost: JsonPatchCost) {
    this.#root = { '': document };
    this.#owned = new Set([this.#root]);
    this.#dialect = dialect;
    this.#cost = cost;
  }

  get document(): unknown {
    return this.#root[''];
  }

  apply(operation: JsonPatchOperation): void {
    if (this.isLenient && operation.path === '') {
      this.#applyToWhole(operation);
      return;
    }
    const to = new Location(this, operation, 'path');
    switch (operation.op) {
      case 'add':
        to.add(this.#valueOf(operation));
        break;
      case 'remove':
        to.remove();
        break;
      case 'replace':
        to.replace(() => this.#valueOf(operation));
        break;
      case 'test':
        if (!jsonEqual(to.read() ?? null, this.#valueOf(operation))) to.fail('test failed');
        break;
      case 'move': {
        const moved = new Location(this, operation, 'from').remove();
        to.add(moved ?? null);
        break;
      }
      case 'copy': {
        const from = new Location(this, operation, 'from');
        const copied = from.read() ?? null;
        const problem = this.#chargeCopy(copied);
        if (problem !== undefined) from.fail(problem);
        // A clone, because a later operation may change either of the two in place.
        to.add(structuredClone(copied));
        break;
      }
      default:
        to.fail('unknown operation');
    }
  }

  /** kube-apiserver can test and replace a whole document, nothing else. */
  #applyToWhole({ op, value = null }: JsonPatchOperation): void {
    if (op === 'test' && jsonEqual(this.document, value)) return;
    if (op !== 'replace' || typeof value !== 'object' || value === null)
      throw new Failure({ problem: 'whole document', side: 'path', pointer: '' });
    this.#root[''] = value;
  }

  #valueOf(operation: JsonPatchOperation): unknown {
    if ('value' in operation) return operation.value ?? null;
    if (this.isLenient) return null;
    throw new Failure({ problem: 'no value', side: 'path', pointer: operation.path });
  }

  #chargeCopy(value: unknown): JsonPatchProblem | undefined {
    const size = measureJson(value, {
      bytes: MAX_COPIED_BYTES - this.#cost.copiedBytes,
      depth: MAX_JSON_DEPTH,
    });
    if (size === 'too deep') return 'too deep';
    if (size === 'too large') return 'copies too large';
    this.#cost.copiedBytes += size;
    return undefined;
  }

  /** Counts the items that are about to be shifted. Returns whether the patch may continue. */
  mayShift({ shifts }: Place): boolean {
    this.#cost.shifts += shifts;
    return this.#cost.shifts <= MAX_SHIFTS;
  }

  get isLenient(): boolean {
    return this.#dialect === 'kubernetes';
  }

  /** Undefined when nothing on the way can hold it. */
  find(steps: readonly string[]): Place | undefined {
    const keys = ['', ...steps];
    const last = keys.pop() ?? '';
    let parent: JsonMap | unknown[] = this.#root;
    for (const key of keys) {
      const place = placeIn(parent, key, this.#dialect);
      const child = containerAt(place);
      if (child === undefined) return undefined;
      parent = this.#own(place, child);
    }
    return placeIn(parent, last, this.#dialect);
  }

  #own(place: Place, child: JsonMap | unknown[]): JsonMap | unknown[] {
    if (this.#owned.has(child)) return child;
    const copy = Array.isArray(child) ? [...child] : { ...child };
    this.#owned.add(copy);
    place.replace(copy);
    return copy;
  }
}

/** What one pointer of an operation refers to. It is looked up when it is used: `move` removes before it adds. */
class Location {
  readonly #run: Run;
  readonly #side: 'path' | 'from';
  readonly #pointer: unknown;
  readonly #steps: readonly string[] | undefined;

  constructor(run: Run, operation: JsonPatchOperation, side: 'path' | 'from') {
    this.#run = run;
    this.#side = side;
    this.#pointer = operation[side];
    this.#steps = typeof this.#pointer === 'string' ? parsePointer(this.#pointer) : undefined;
    if (this.#steps === undefined && !run.isLenient) this.fail('not a pointer');
  }

  add(value: unknown): void {
    const place = this.#place();
    if (!this.#run.mayShift(place)) this.fail('too many shifts', place);
    const problem = place.add(value);
    if (problem !== undefined) this.fail(problem, place);
  }

  remove(): unknown {
    const place = this.#place();
    const problem = place.missing();
    if (problem !== undefined) this.fail(problem, place);
    if (this.#steps?.length === 0) this.fail('whole document');
    if (!this.#run.mayShift(place)) this.fail('too many shifts', place);
    const value = place.read();
    place.remove();
    return value;
  }

  replace(value: () => unknown): void {
    const place = this.#place();
    const problem = place.missing();
    const adds = this.#run.isLenient && problem === 'not found';
    if (problem !== undefined && !adds) this.fail('not found', place);
    place.replace(value());
  }

  read(): unknown {
    const place = this.#place();
    const problem = place.missing();
    const isNull = this.#run.isLenient && problem === 'not found';
    if (problem !== undefined && !isNull) this.fail(problem, place);
    return place.read();
  }

  fail(problem: JsonPatchProblem, place?: Place): never {
    const { step, length } = place ?? {};
    throw new Failure({ problem, side: this.#side, pointer: this.#pointer, step, length });
  }

  #place(): Place {
    const steps = this.#steps ?? [];
    // kube-apiserver does not know the whole document as a source or destination.
    if (this.#run.isLenient && steps.length === 0) this.fail('no parent');
    return this.#run.find(steps) ?? this.fail('no parent');
  }
}
