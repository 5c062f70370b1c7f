import { hostText } from './describe.ts';
import type {
  Backend,
  BackendId,
  HealthMonitor,
  ListenerCertificates,
  ListenerName,
  ListenerSettings,
  Member,
  PolicyKey,
  PolicyTarget,
  Rule,
} from './state.ts';

/**
 * One call of the API. Objects that may not exist yet are named by what they mean; objects to delete by their ID, because
 * several can have the same meaning.
 */
export type Step =
  | { readonly kind: 'storeCertificate'; readonly certificate: string }
  | { readonly kind: 'deleteCertificate'; readonly certificate: string }
  | { readonly kind: 'createBackend'; readonly backend: Omit<Backend, 'members' | 'monitor'> }
  | {
      readonly kind: 'updateBackend';
      readonly backend: BackendId;
      readonly name: string;
      readonly algorithm: Backend['algorithm'];
      readonly tls: boolean;
    }
  | { readonly kind: 'setMembers'; readonly backend: BackendId; readonly members: readonly Member[] }
  | { readonly kind: 'createMonitor'; readonly backend: BackendId; readonly monitor: HealthMonitor }
  | { readonly kind: 'deleteMonitor'; readonly backend: BackendId; readonly id: string }
  | { readonly kind: 'deleteBackend'; readonly backend: BackendId; readonly id: string }
  | {
      readonly kind: 'createListener';
      readonly listener: ListenerName;
      readonly settings: ListenerSettings;
      readonly certificates?: ListenerCertificates;
    }
  | {
      readonly kind: 'updateListener';
      readonly listener: ListenerName;
      readonly settings?: ListenerSettings;
      readonly certificates?: ListenerCertificates;
      readonly fallback?: BackendId;
      readonly enabled?: boolean;
    }
  | { readonly kind: 'deleteListener'; readonly name: string; readonly id: string }
  | {
      readonly kind: 'createPolicy';
      readonly listener: ListenerName;
      readonly key: PolicyKey;
      readonly target: PolicyTarget;
      /** 1 is the first. Later policies move. */
      readonly position: number;
      readonly enabled: boolean;
    }
  | {
      readonly kind: 'createRule';
      readonly listener: ListenerName;
      readonly key: PolicyKey;
      readonly rule: Rule;
    }
  | {
      readonly kind: 'updatePolicy';
      readonly listener: ListenerName;
      readonly key: PolicyKey;
      readonly target?: PolicyTarget;
      readonly enabled?: boolean;
    }
  | {
      readonly kind: 'deletePolicy';
      readonly listener: ListenerName;
      readonly key: PolicyKey | undefined;
      readonly id: string;
    };

const KINDS: Readonly<Record<Step['kind'], string>> = {
  storeCertificate: '+ certificate',
  deleteCertificate: '- certificate',
  createBackend: '+ pool',
  updateBackend: '~ pool',
  setMembers: '~ members',
  createMonitor: '+ health monitor',
  deleteMonitor: '- health monitor',
  deleteBackend: '- pool',
  createListener: '+ listener',
  updateListener: '~ listener',
  deleteListener: '- listener',
  createPolicy: '+ policy',
  createRule: '+ rule',
  updatePolicy: '~ policy',
  deletePolicy: '- policy',
};

/** One line for a user: what the call does, and to what. */
export const stepText = (step: Step): string => `${KINDS[step.kind]} ${detailsOf(step)}`;

function detailsOf(step: Step): string {
  switch (step.kind) {
    case 'storeCertificate':
    case 'deleteCertificate':
      return step.certificate;
    case 'createBackend':
      return `${step.backend.id} (${step.backend.name}, ${step.backend.algorithm}${step.backend.tls ? ', TLS' : ''})`;
    case 'updateBackend':
      return `${step.backend} (${step.name}, ${step.algorithm}${step.tls ? ', TLS' : ''})`;
    case 'setMembers':
      return `${step.backend}: ${step.members.map(memberLine).join(', ') || 'none'}`;
    case 'createMonitor':
      return `${step.backend} (${step.monitor.type}${step.monitor.path === undefined ? '' : ` ${step.monitor.path}`})`;
    case 'deleteMonitor':
    case 'deleteBackend':
      return `${step.backend} (${step.id})`;
    case 'createListener':
      return `${step.listener}, port ${step.settings.port}, not enabled`;
    case 'updateListener':
      return `${step.listener}: ${listenerChanges(step).join(', ')}`;
    case 'deleteListener':
      return `${step.name} (${step.id})`;
    case 'createPolicy':
      return `${step.listener} ${step.position}: ${hostText(step.key)} -> ${targetText(step.target)}${step.enabled ? '' : ', not enabled'}`;
    case 'createRule':
      return `${step.listener}: ${hostText(step.key)}: ${step.rule.type} ${step.rule.compare_type} ${step.rule.value}`;
    case 'updatePolicy':
      return `${step.listener}: ${hostText(step.key)}${step.target === undefined ? '' : ` -> ${targetText(step.target)}`}${enabledText(step.enabled)}`;
    case 'deletePolicy':
      return `${step.listener}: ${step.key === undefined ? 'of another program' : hostText(step.key)} (${step.id})`;
  }
}

const listenerChanges = ({
  settings,
  certificates,
  fallback,
  enabled,
}: Extract<Step, { kind: 'updateListener' }>): string[] => [
  ...(settings === undefined ? [] : ['settings']),
  ...(certificates === undefined
    ? []
    : [`certificates ${[certificates.default, ...certificates.sni].join(' ')}`]),
  ...(fallback === undefined ? [] : [`default pool ${fallback}`]),
  ...(enabled === undefined ? [] : [enabled ? 'enabled' : 'not enabled']),
];

const enabledText = (enabled: boolean | undefined): string =>
  enabled === undefined ? '' : enabled ? ', enabled' : ', not enabled';

const memberLine = ({ address, port, weight }: Member): string =>
  `${address.includes(':') ? `[${address}]` : address}:${port}${weight === 1 ? '' : ` weight ${weight}`}`;

const targetText = (target: PolicyTarget): string =>
  'backend' in target ? target.backend : `redirect to ${target.redirectPrefix}`;
