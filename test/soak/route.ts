/** A route in addition to those of the story. */
export interface Route {
  /** Also the class of its Ingress. */
  pool: string;
  host: string;
  path: string;
  /** The Service behind it. If it does not exist, only this route is affected. */
  service: string;
  /** The fingerprint of its certificate. */
  fingerprint?: string;
}
