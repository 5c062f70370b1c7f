import { HEADLESS, type Service } from './types.ts';

const OLD_HINTS = 'service.kubernetes.io/topology-aware-hints';
const NEW_HINTS = 'service.kubernetes.io/topology-mode';

/** Warnings for values that are deprecated or ignored. */
export function serviceWarnings({ metadata, spec }: Service): string[] {
  const { type, externalIPs = [], externalName = '', loadBalancerIP = '' } = spec;
  const warnings: string[] = [];
  const headless = type === 'ClusterIP' && spec.clusterIP === HEADLESS;
  if (metadata.annotations?.[OLD_HINTS] !== undefined) {
    warnings.push(`annotation ${OLD_HINTS} is deprecated, please use ${NEW_HINTS} instead`);
  }
  if (headless) {
    if (loadBalancerIP !== '') warnings.push('spec.loadBalancerIP is ignored for headless services');
    if (externalIPs.length > 0) warnings.push('spec.externalIPs is ignored for headless services');
    if (spec.sessionAffinity !== 'None')
      warnings.push('spec.SessionAffinity is ignored for headless services');
  }
  if (externalIPs.length > 0 && !headless && type !== 'ExternalName') {
    warnings.push('spec.externalIPs is deprecated and may no longer be implemented in some clusters');
  }
  if (type === 'ExternalName' && externalIPs.length > 0) {
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (type !== 'ExternalName' && externalName !== '') {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (spec.trafficDistribution === 'PreferClose') {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings;
}
