/**
 * Addresses in the status of Ingresses and of L7Routers, in a form that can be compared. Clients are sent to the router whose
 * address the status of an Ingress lists, whatever class the Ingress has now: the manager changes the status when another
 * router serves the Ingress, and not before. Pure.
 */
import type { Ingress } from '@tidegate/kube';
import type { L7Router, RouterAddress } from '../api/index.ts';

export const listedAddressesOf = ({ status }: Ingress): string[] =>
  ((status?.loadBalancer?.ingress ?? []) as RouterAddress[]).map(textOf);

export const routerAddressesOf = ({ status }: L7Router): string[] => (status?.addresses ?? []).map(textOf);

const textOf = ({ ip = '', hostname = '', ports = [] }: RouterAddress): string =>
  [ip, hostname, ...(ports ?? []).map(({ port, protocol }) => `${port}/${protocol}`)].join(' ');
