/** A request, as far as routing depends on it. */
export interface RequestFacts {
  readonly secure: boolean;
  readonly host: string;
  /** Path and query as the client sends them. */
  readonly target: string;
}

/** What a controller does with a request: the part that depends on its routes, not on backends. */
export type Answer =
  | {
      readonly kind: 'backend';
      /** `namespace/service:port`. */
      readonly backend: string;
      /** `namespace/name` of the Ingress, and its path as written. */
      readonly ingress: string;
      readonly path: string;
    }
  | { readonly kind: 'redirect'; readonly status: number; readonly ingress?: string }
  | { readonly kind: 'status'; readonly status: number };

/** Whether clients notice a difference. The same backend behind two paths is not one. */
export function isSameAnswer(a: Answer, b: Answer): boolean {
  if (a.kind === 'backend' && b.kind === 'backend') return a.backend === b.backend;
  return a.kind !== 'backend' && b.kind !== 'backend' && a.kind === b.kind && a.status === b.status;
}

export function answerText(answer: Answer): string {
  switch (answer.kind) {
    case 'backend':
      return `Service ${answer.backend} (path ${answer.path} of Ingress ${answer.ingress})`;
    case 'redirect':
      return `redirect ${answer.status}`;
    case 'status':
      return `status ${answer.status}`;
  }
}
