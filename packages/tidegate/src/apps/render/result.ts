import type { KubeObject } from '@tidegate/kube';

/** An object to apply. */
export interface Rendered {
  readonly object: KubeObject;
  /** The index of its manifest in the template. */
  readonly ordinal: number;
  /** The edition that it belongs to. Absent for objects that are applied once for all pools. */
  readonly edition?: string;
}

/** A mistake in the application that prevents an object from being rendered. */
export interface RenderError {
  /** The field of the EdgeApplication. */
  readonly path: string;
  readonly message: string;
  /** The index of the manifest that is not rendered. Absent if the error does not concern one manifest. */
  readonly ordinal?: number;
  /** The edition that is not rendered. Absent if the error concerns all editions. */
  readonly edition?: string;
}

/** Objects that could be rendered, and the errors for the others. Both can be present. */
export interface RenderResult {
  readonly objects: readonly Rendered[];
  readonly errors: readonly RenderError[];
}
