/** The fields of pods that the server uses. All are optional, because a request can omit any of them. */
import type { KubeObject, ObjectMeta } from '@tidegate/kube';
import type { LabelSelector } from '../validation/selectors.ts';

export type IntOrString = number | string;
export type ResourceList = Record<string, string>;

export interface ResourceRequirements {
  limits?: ResourceList;
  requests?: ResourceList;
  claims?: { name?: string; request?: string }[];
}

export interface ContainerPort {
  name?: string;
  containerPort?: number;
  hostPort?: number;
  hostIP?: string;
  protocol?: string;
}

export interface KeySelector {
  name?: string;
  key?: string;
  optional?: boolean;
}

export interface FieldRef {
  apiVersion?: string;
  fieldPath?: string;
}

export interface ResourceFieldRef {
  containerName?: string;
  resource?: string;
  divisor?: string;
}

export interface EnvVarSource {
  fieldRef?: FieldRef;
  resourceFieldRef?: ResourceFieldRef;
  configMapKeyRef?: KeySelector;
  secretKeyRef?: KeySelector;
  fileKeyRef?: { volumeName?: string; path?: string; key?: string; optional?: boolean };
}

export interface EnvVar {
  name?: string;
  value?: string;
  valueFrom?: EnvVarSource;
}

export interface EnvFromSource {
  prefix?: string;
  configMapRef?: { name?: string; optional?: boolean };
  secretRef?: { name?: string; optional?: boolean };
}

export interface VolumeMount {
  name?: string;
  mountPath?: string;
  subPath?: string;
  subPathExpr?: string;
  readOnly?: boolean;
  mountPropagation?: string;
  recursiveReadOnly?: string;
}

export interface HTTPGetAction {
  path?: string;
  port?: IntOrString;
  host?: string;
  scheme?: string;
  httpHeaders?: { name?: string; value?: string }[];
}

export interface Handler {
  exec?: { command?: string[] };
  httpGet?: HTTPGetAction;
  tcpSocket?: { port?: IntOrString; host?: string };
  grpc?: { port?: number; service?: string };
  sleep?: { seconds?: number };
}

export interface Probe extends Handler {
  initialDelaySeconds?: number;
  timeoutSeconds?: number;
  periodSeconds?: number;
  successThreshold?: number;
  failureThreshold?: number;
  terminationGracePeriodSeconds?: number;
}

export interface ContainerSecurityContext {
  privileged?: boolean;
  runAsUser?: number;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  allowPrivilegeEscalation?: boolean;
  procMount?: string;
  capabilities?: { add?: string[]; drop?: string[] };
  seccompProfile?: { type?: string; localhostProfile?: string };
  appArmorProfile?: { type?: string; localhostProfile?: string };
}

export interface Container {
  name?: string;
  image?: string;
  imagePullPolicy?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  ports?: ContainerPort[];
  env?: EnvVar[];
  envFrom?: EnvFromSource[];
  resources?: ResourceRequirements;
  resizePolicy?: { resourceName?: string; restartPolicy?: string }[];
  restartPolicy?: string;
  volumeMounts?: VolumeMount[];
  volumeDevices?: { name?: string; devicePath?: string }[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: { postStart?: Handler; preStop?: Handler; stopSignal?: string };
  terminationMessagePath?: string;
  terminationMessagePolicy?: string;
  securityContext?: ContainerSecurityContext;
  stdin?: boolean;
  stdinOnce?: boolean;
  tty?: boolean;
  targetContainerName?: string;
}

export interface KeyToPath {
  key?: string;
  path?: string;
  mode?: number;
}

export interface DownwardAPIItem {
  path?: string;
  mode?: number;
  fieldRef?: FieldRef;
  resourceFieldRef?: ResourceFieldRef;
}

export interface ProjectedSource {
  configMap?: { name?: string; items?: KeyToPath[]; optional?: boolean };
  secret?: { name?: string; items?: KeyToPath[]; optional?: boolean };
  downwardAPI?: { items?: DownwardAPIItem[] };
  serviceAccountToken?: { audience?: string; expirationSeconds?: number; path?: string };
}

export interface Volume {
  name?: string;
  emptyDir?: { medium?: string; sizeLimit?: string };
  hostPath?: { path?: string; type?: string };
  configMap?: { name?: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number };
  secret?: { secretName?: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number };
  downwardAPI?: { items?: DownwardAPIItem[]; defaultMode?: number };
  projected?: { sources?: ProjectedSource[]; defaultMode?: number };
  persistentVolumeClaim?: { claimName?: string; readOnly?: boolean };
  nfs?: { server?: string; path?: string };
  csi?: { driver?: string };
  image?: { reference?: string; pullPolicy?: string };
  ephemeral?: { volumeClaimTemplate?: { metadata?: ObjectMeta; spec?: ClaimSpec } };
  iscsi?: { iscsiInterface?: string };
  rbd?: { pool?: string; user?: string; keyring?: string };
  azureDisk?: { cachingMode?: string; kind?: string; fsType?: string; readOnly?: boolean };
  scaleIO?: { storageMode?: string; fsType?: string };
}

export interface ClaimSpec {
  accessModes?: string[];
  volumeMode?: string;
  resources?: ResourceRequirements;
  storageClassName?: string;
}

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

export interface NodeSelector {
  nodeSelectorTerms?: NodeSelectorTerm[];
}

export interface NodeSelectorTerm {
  matchExpressions?: { key?: string; operator?: string; values?: string[] }[];
  matchFields?: { key?: string; operator?: string; values?: string[] }[];
}

export interface PodAffinityTerm {
  labelSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  namespaces?: string[];
  topologyKey?: string;
}

export interface PodAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  preferredDuringSchedulingIgnoredDuringExecution?: { weight?: number; podAffinityTerm?: PodAffinityTerm }[];
}

export interface Affinity {
  nodeAffinity?: {
    requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
    preferredDuringSchedulingIgnoredDuringExecution?: { weight?: number; preference?: NodeSelectorTerm }[];
  };
  podAffinity?: PodAffinity;
  podAntiAffinity?: PodAffinity;
}

export interface TopologySpreadConstraint {
  maxSkew?: number;
  topologyKey?: string;
  whenUnsatisfiable?: string;
  labelSelector?: LabelSelector;
  minDomains?: number;
}

export interface PodSpec {
  containers?: Container[];
  initContainers?: Container[];
  ephemeralContainers?: Container[];
  volumes?: Volume[];
  restartPolicy?: string;
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  dnsPolicy?: string;
  dnsConfig?: {
    nameservers?: string[];
    searches?: string[];
    options?: { name?: string; value?: string }[];
  };
  nodeSelector?: Record<string, string>;
  serviceAccountName?: string;
  serviceAccount?: string;
  automountServiceAccountToken?: boolean;
  nodeName?: string;
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  shareProcessNamespace?: boolean;
  securityContext?: {
    runAsUser?: number;
    runAsGroup?: number;
    fsGroup?: number;
    supplementalGroups?: number[];
    fsGroupChangePolicy?: string;
    sysctls?: { name?: string; value?: string }[];
  };
  imagePullSecrets?: { name?: string }[];
  hostname?: string;
  subdomain?: string;
  setHostnameAsFQDN?: boolean;
  affinity?: Affinity;
  schedulerName?: string;
  tolerations?: Toleration[];
  hostAliases?: { ip?: string; hostnames?: string[] }[];
  priorityClassName?: string;
  priority?: number;
  preemptionPolicy?: string;
  readinessGates?: { conditionType?: string }[];
  runtimeClassName?: string;
  enableServiceLinks?: boolean;
  overhead?: ResourceList;
  topologySpreadConstraints?: TopologySpreadConstraint[];
  os?: { name?: string };
  hostUsers?: boolean;
  schedulingGates?: { name?: string }[];
  resources?: ResourceRequirements;
}

export interface ContainerState {
  waiting?: { reason?: string };
  running?: { startedAt?: string };
  terminated?: { reason?: string; exitCode?: number; signal?: number; finishedAt?: string };
}

export interface ContainerStatus {
  name?: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  state?: ContainerState;
  lastState?: ContainerState;
}

export interface PodCondition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastProbeTime?: string | null;
  lastTransitionTime?: string | null;
}

export interface PodStatus {
  phase?: string;
  reason?: string;
  conditions?: PodCondition[];
  podIP?: string;
  podIPs?: { ip?: string }[];
  hostIP?: string;
  nominatedNodeName?: string;
  qosClass?: string;
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
}

export interface Pod extends KubeObject {
  spec: PodSpec;
  status: PodStatus;
}

export interface PodTemplateSpec {
  metadata?: ObjectMeta;
  spec?: PodSpec;
}
