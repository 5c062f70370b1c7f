import type { L7Router, RouterProblem } from '../../api/index.ts';

/** What a router can report. It must not create events with texts of its choice for other purposes. */
const REASONS: ReadonlySet<string> = new Set([
  ...['UsersNotFound', 'InvalidUsers', 'AuthoritiesNotFound', 'InvalidAuthorities', 'MemoryExceeded'],
]);

/** The problems that the agents of a router report about Ingresses of its classes, each once. Pure. */
export function reportedProblems(
  { status }: L7Router,
  isServed: (ingress: string) => boolean,
): RouterProblem[] {
  const found = new Map<string, RouterProblem>();
  for (const { problems = [] } of status?.agents ?? [])
    for (const problem of problems)
      if (REASONS.has(problem.reason) && isServed(problem.ingress)) found.set(idOf(problem), problem);
  return [...found.values()];
}

const idOf = ({ ingress, reason, message }: RouterProblem): string =>
  JSON.stringify([ingress, reason, message]);

/** Remembers which problems of each router have an event. */
export class AnnouncedProblems {
  readonly #known = new Map<string, ReadonlySet<string>>();

  /** The problems that are new since the last call for this router. */
  next(router: string, problems: readonly RouterProblem[]): RouterProblem[] {
    const before = this.#known.get(router);
    this.#known.set(router, new Set(problems.map(idOf)));
    return problems.filter((problem) => before?.has(idOf(problem)) !== true);
  }

  forget(router: string): void {
    this.#known.delete(router);
  }
}
