import { isKind, OpenStackError } from '../openstack/index.ts';

/** An error that a user can do something about. The reason is that of a condition of the router. */
class ExplainedError extends OpenStackError {
  readonly reason: string;

  constructor(reason: string, cause: OpenStackError, hint: string) {
    const { message, status, kind } = cause;
    super(`${message.replace(/\.$/, '')}. ${hint}`, { status, kind, cause });
    this.reason = reason;
  }
}

/** The role that default policies ask for. A message starts with the service. */
const roleFor = ({ message }: OpenStackError): string => {
  if (message.startsWith('key-manager:')) return 'creator';
  return message.startsWith('network:') ? 'member' : 'load-balancer_member';
};

/** Adds what to do to errors that a user can do something about. They become conditions of the router. */
export function explained(error: unknown): unknown {
  if (isKind(error, 'quota'))
    return new ExplainedError(
      'QuotaExceeded',
      error,
      'Ask the administrator of the cloud for a larger quota of the project, or remove unused objects.',
    );
  if (isKind(error, 'denied'))
    return new ExplainedError(
      'CloudAccessDenied',
      error,
      `The credentials of the manager need the role ${roleFor(error)} in the project.`,
    );
  if (isKind(error, 'unavailable'))
    return new ExplainedError('CloudUnavailable', error, 'The manager tries again.');
  return error;
}
