/** How much may be kept. The unit is that of the thing: entries, views, bytes. */
export interface ShareLimits {
  /** For one identity. */
  readonly perIdentity: number;
  /** For all identities together. */
  readonly total: number;
}
