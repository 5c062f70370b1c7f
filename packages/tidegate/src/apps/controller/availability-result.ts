/** The progress of one object. */
export interface Availability {
  readonly available: boolean;
  /** In CamelCase; becomes the reason of conditions. */
  readonly reason: string;
  readonly message: string;
}

export const available = (message: string): Availability => ({
  available: true,
  reason: 'Available',
  message,
});
export const rollingOut = (message: string): Availability => ({
  available: false,
  reason: 'RollingOut',
  message,
});

/** Whether the status is about the current spec. Until the controller has observed it, the counts are of an older one. */
export const isObserved = ({
  metadata,
  status,
}: {
  metadata: { generation?: number };
  status?: unknown;
}): boolean =>
  ((status as { observedGeneration?: number } | undefined)?.observedGeneration ?? 0) >=
  (metadata.generation ?? 0);

export const NOT_OBSERVED = rollingOut('waiting for the controller to observe the change');
