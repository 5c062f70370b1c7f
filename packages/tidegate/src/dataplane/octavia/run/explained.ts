import { isKind, OpenStackError } from '../openstack/index.ts';

/** Adds what to do to errors that a user can do something about. They become conditions of the router. */
export function explained(error: unknown): unknown {
  if (isKind(error, 'quota'))
    return new OpenStackError(
      `QuotaExceeded: ${error.message}. Ask the administrator of the cloud for a larger quota of the project, or remove unused objects.`,
      {
        status: error.status,
        kind: 'quota',
        cause: error,
      },
    );
  if (isKind(error, 'denied'))
    return new OpenStackError(
      `${error.message}. The credentials of the manager need the role load-balancer_member in the project.`,
      { status: error.status, kind: 'denied', cause: error },
    );
  return error;
}
