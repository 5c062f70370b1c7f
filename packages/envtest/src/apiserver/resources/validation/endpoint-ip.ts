import { type FieldError, fieldError } from '@tidegate/serving';
import { isIPv4 } from './ip.ts';

/**
 * Rejects addresses that an endpoint cannot have. Unlike kube-apiserver, it accepts loopback addresses, because the
 * pods of the embedded cluster have addresses in 127.0.0.0/8.
 */
export function validateEndpointIP(path: string, ip: string): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (detail: string): void => void errors.push(fieldError.invalid(path, ip, detail));
  const octets = isIPv4(ip) ? ip.split('.').map(Number) : [];
  const text = ip.toLowerCase();
  if (ip === '0.0.0.0' || ip === '::') refuse(`may not be unspecified (${ip})`);
  if ((octets[0] === 169 && octets[1] === 254) || /^fe[89ab]/.test(text)) {
    refuse('may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  }
  if ((octets[0] === 224 && octets[1] === 0 && octets[2] === 0) || /^ff[0-9a-f]2:/.test(text)) {
    refuse('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)');
  }
  return errors;
}
