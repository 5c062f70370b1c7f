/** Which arguments of containers leave the cluster: those of Tidegate's own programs whose values cannot be credentials. */
import { isJsonMap } from '@tidegate/kube';
import { ROUTER_LABEL } from '../api/index.ts';
import { REDACTED, redactText } from './redact-text.ts';

const PROGRAMS = new Set(['manager', 'router', '/nginx-ingress-controller']);
const FLAGS = new Set(
  [
    'parts log-level leader-elect install-crds no-pool-registration hub-address node-addresses',
    'router-image ingress-nginx-image allow-router-image allow-router-address allow-router-namespace',
    'router-http-port router-https-port router-admin-port admin-port admin-bind-address',
    'webhook-bind-address webhook-port webhook-service webhook-client-name octavia octavia-certificates',
    'class router router-uid pool data-plane access-log bind-address http-port https-port drain-timeout shutdown-delay state',
    'watch-ingress-without-class controller-class ingress-class election-id publish-service',
  ]
    .join(' ')
    .split(' '),
);

/** Whether the labels of a pod are those of Tidegate's programs. They prevent accidents: an administrator can set them too. */
export const isOurs = (labels: unknown): boolean =>
  isJsonMap(labels) &&
  (labels['app.kubernetes.io/part-of'] === 'tidegate' || typeof labels[ROUTER_LABEL] === 'string');

/** The arguments of a program of Tidegate. Names of flags are kept, values only of the flags above. */
export function redactArguments(value: unknown): unknown {
  if (!Array.isArray(value)) return REDACTED;
  // The flag that the next argument may be the value of.
  let flag = '';
  return value.map((argument: unknown) => {
    if (typeof argument !== 'string') return REDACTED;
    const [, name, assigned] = /^--([a-z][a-z-]{0,60})(=.*)?$/s.exec(argument) ?? [];
    if (name !== undefined) {
      flag = assigned === undefined ? name : '';
      if (assigned === undefined) return argument;
      return FLAGS.has(name) ? redactText(argument) : `--${name}=${REDACTED}`;
    }
    const isKept = PROGRAMS.has(argument) || FLAGS.has(flag);
    flag = '';
    return isKept ? redactText(argument) : REDACTED;
  });
}
