import type { KubeObject } from '@tidegate/kube';

/** One object as it is to be applied. */
export interface Rendered {
  readonly object: KubeObject;
  /** The manifest that it was made of. */
  readonly ordinal: number;
  /** The pool that it was made for; absent when it is there once for all. */
  readonly edition?: string;
}

/** What can not be rendered as it is written. */
export interface RenderError {
  /** The field of the EdgeApplication. */
  readonly path: string;
  readonly message: string;
  /** Absent when it is not about one manifest. */
  readonly ordinal?: number;
  readonly edition?: string;
}

export interface RenderResult {
  readonly objects: readonly Rendered[];
  readonly errors: readonly RenderError[];
}
