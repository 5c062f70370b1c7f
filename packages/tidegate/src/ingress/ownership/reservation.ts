import { DEFAULT_HOST_RESERVATION, type IngressClassPolicy } from '../../api/index.ts';

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * How long a host is reserved for its namespace after the last Ingress that names it is gone. Otherwise a tenant could wait
 * with an Ingress for the host of another, and get it while the owner replaces an Ingress or corrects a mistake.
 */
export function reservationMsOf(policy: IngressClassPolicy['spec'] | undefined): number {
  // The schema allows nothing else. If it was bypassed, the default applies.
  return parse(policy?.reserveReleasedHosts) ?? parse(DEFAULT_HOST_RESERVATION)!;
}

function parse(text: string | undefined): number | undefined {
  const [, digits, unit = ''] = /^([0-9]{1,4})([smh])$/.exec(text ?? '') ?? [];
  return digits === undefined ? undefined : Number(digits) * UNIT_MS[unit]!;
}
