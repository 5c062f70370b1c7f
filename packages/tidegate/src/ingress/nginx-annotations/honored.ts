import {
  BACKEND_PROTOCOL_ANNOTATION,
  CONNECT_TIMEOUT_ANNOTATION,
  MAX_BODY_SIZE_ANNOTATION,
  READ_TIMEOUT_ANNOTATION,
  SSL_REDIRECT_ANNOTATION,
} from '../../api/index.ts';

/** An annotation with the same meaning as one of Tidegate. */
export interface Honored {
  /** The annotation of Tidegate. If an Ingress has both, this one wins. */
  readonly as: string;
}

export const HONORED: ReadonlyMap<string, Honored> = new Map([
  ['backend-protocol', { as: BACKEND_PROTOCOL_ANNOTATION }],
  ['force-ssl-redirect', { as: SSL_REDIRECT_ANNOTATION }],
  ['proxy-body-size', { as: MAX_BODY_SIZE_ANNOTATION }],
  ['proxy-connect-timeout', { as: CONNECT_TIMEOUT_ANNOTATION }],
  ['proxy-read-timeout', { as: READ_TIMEOUT_ANNOTATION }],
]);
