/**
 * Specs of pods, claims and volumes as kube-apiserver prints its internal structs, with Go field names in Go's order. The
 * error for a forbidden update contains a diff of this form.
 *
 * Written as `Name:type`: `s` string, `i` number, `b` boolean, `q` quantity, `{` map, `[` list, `[T` list of structs,
 * `T` struct, `*T` struct or null; without a type: any value or null.
 */
import { sortedLabels } from '../validation/selectors.ts';
import type { ContainerSecurityContext, PodSpec, PodTemplateSpec } from './types.ts';

const STRUCTS: Record<string, string> = {
  PodSpec: `
    Volumes:[Volume InitContainers:[Container Containers:[Container EphemeralContainers:[Container
    RestartPolicy:s TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy:s NodeSelector:{
    ServiceAccountName:s AutomountServiceAccountToken NodeName:s SecurityContext:*PodSecurityContext
    ImagePullSecrets:[LocalObjectReference Hostname:s Subdomain:s SetHostnameAsFQDN
    Affinity:*Affinity SchedulerName:s Tolerations:[Toleration HostAliases:[HostAlias
    PriorityClassName:s Priority PreemptionPolicy DNSConfig:*PodDNSConfig
    ReadinessGates:[PodReadinessGate RuntimeClassName Overhead:{ EnableServiceLinks
    TopologySpreadConstraints:[TopologySpreadConstraint OS:*PodOS SchedulingGates:[PodSchedulingGate
    ResourceClaims:[PodResourceClaim Resources:*ResourceRequirements HostnameOverride
    SchedulingGroup:*PodSchedulingGroup
  `,
  Volume: `
    Name:s HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource GCEPersistentDisk
    AWSElasticBlockStore GitRepo Secret:*SecretVolumeSource NFS:*NFSVolumeSource ISCSI Glusterfs
    PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource RBD Quobyte FlexVolume Cinder CephFS
    Flocker DownwardAPI:*DownwardAPIVolumeSource FC AzureFile ConfigMap:*ConfigMapVolumeSource
    VsphereVolume AzureDisk PhotonPersistentDisk Projected:*ProjectedVolumeSource PortworxVolume
    ScaleIO StorageOS CSI:*CSIVolumeSource Ephemeral Image:*ImageVolumeSource
  `,
  Container: `
    Name:s Image:s Command:[ Args:[ WorkingDir:s Ports:[ContainerPort EnvFrom:[EnvFromSource
    Env:[EnvVar Resources:ResourceRequirements ResizePolicy:[ContainerResizePolicy RestartPolicy
    RestartPolicyRules:[ContainerRestartRule VolumeMounts:[VolumeMount VolumeDevices:[VolumeDevice
    LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle
    TerminationMessagePath:s TerminationMessagePolicy:s ImagePullPolicy:s
    SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY:b
  `,
  PodSecurityContext: `
    HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace HostUsers SELinuxOptions:*SELinuxOptions
    WindowsOptions RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups:[ SupplementalGroupsPolicy
    FSGroup FSGroupChangePolicy Sysctls:[Sysctl SeccompProfile:*SeccompProfile
    AppArmorProfile:*AppArmorProfile SELinuxChangePolicy
  `,
  LocalObjectReference: 'Name:s',
  Affinity: 'NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAffinity',
  Toleration: 'Key:s Operator:s Value:s Effect:s TolerationSeconds',
  HostAlias: 'IP:s Hostnames:[',
  PodDNSConfig: 'Nameservers:[ Searches:[ Options:[PodDNSConfigOption',
  PodReadinessGate: 'ConditionType:s',
  TopologySpreadConstraint: `
    MaxSkew:i TopologyKey:s WhenUnsatisfiable:s LabelSelector MinDomains NodeAffinityPolicy
    NodeTaintsPolicy MatchLabelKeys:[
  `,
  PodOS: 'Name:s',
  PodSchedulingGate: 'Name:s',
  PodResourceClaim: 'Name:s ResourceClaimName ResourceClaimTemplateName',
  ResourceRequirements: 'Limits:{ Requests:{ Claims:[ResourceClaim',
  PodSchedulingGroup: 'PodGroupName',
  HostPathVolumeSource: 'Path:s Type',
  EmptyDirVolumeSource: 'Medium:s SizeLimit',
  SecretVolumeSource: 'SecretName:s Items:[KeyToPath DefaultMode Optional',
  NFSVolumeSource: 'Server:s Path:s ReadOnly:b',
  PersistentVolumeClaimVolumeSource: 'ClaimName:s ReadOnly:b',
  DownwardAPIVolumeSource: 'Items:[DownwardAPIVolumeFile DefaultMode',
  ConfigMapVolumeSource: 'Name:s Items:[KeyToPath DefaultMode Optional',
  ProjectedVolumeSource: 'Sources:[VolumeProjection DefaultMode',
  CSIVolumeSource: 'Driver:s ReadOnly FSType VolumeAttributes:{ NodePublishSecretRef:*LocalObjectReference',
  ImageVolumeSource: 'Reference:s PullPolicy:s',
  ContainerPort: 'Name:s HostPort:i ContainerPort:i Protocol:s HostIP:s',
  EnvFromSource: 'Prefix:s ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource',
  EnvVar: 'Name:s Value:s ValueFrom:*EnvVarSource',
  ContainerResizePolicy: 'ResourceName:s RestartPolicy:s',
  ContainerRestartRule: 'Action:s ExitCodes:*ContainerRestartRuleOnExitCodes',
  VolumeMount: 'Name:s ReadOnly:b RecursiveReadOnly MountPath:s SubPath:s MountPropagation SubPathExpr:s',
  VolumeDevice: 'Name:s DevicePath:s',
  Probe: `
    Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction GRPC:*GRPCAction
    InitialDelaySeconds:i TimeoutSeconds:i PeriodSeconds:i SuccessThreshold:i FailureThreshold:i
    TerminationGracePeriodSeconds
  `,
  Lifecycle: 'PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal',
  SecurityContext: `
    Capabilities:*Capabilities Privileged SELinuxOptions:*SELinuxOptions WindowsOptions RunAsUser
    RunAsGroup RunAsNonRoot ReadOnlyRootFilesystem AllowPrivilegeEscalation ProcMount
    SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile
  `,
  SELinuxOptions: 'User:s Role:s Type:s Level:s',
  Sysctl: 'Name:s Value:s',
  SeccompProfile: 'Type:s LocalhostProfile',
  AppArmorProfile: 'Type:s LocalhostProfile',
  NodeAffinity: `
    RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector
    PreferredDuringSchedulingIgnoredDuringExecution:[PreferredSchedulingTerm
  `,
  PodAffinity: `
    RequiredDuringSchedulingIgnoredDuringExecution:[PodAffinityTerm
    PreferredDuringSchedulingIgnoredDuringExecution:[WeightedPodAffinityTerm
  `,
  PodDNSConfigOption: 'Name:s Value',
  ResourceClaim: 'Name:s Request:s',
  KeyToPath: 'Key:s Path:s Mode',
  DownwardAPIVolumeFile: 'Path:s FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode',
  VolumeProjection: `
    Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection
    ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle PodCertificate
  `,
  ConfigMapEnvSource: 'Name:s Optional',
  SecretEnvSource: 'Name:s Optional',
  EnvVarSource: `
    FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector
    ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector
    FileKeyRef:*FileKeySelector
  `,
  ContainerRestartRuleOnExitCodes: 'Operator:s Values:[',
  ExecAction: 'Command:[',
  HTTPGetAction: 'Path:s Port:i Host:s Scheme:s HTTPHeaders:[HTTPHeader',
  TCPSocketAction: 'Port:i Host:s',
  GRPCAction: 'Port:i Service',
  LifecycleHandler: 'Exec:*ExecAction HTTPGet:*HTTPGetAction TCPSocket:*TCPSocketAction Sleep:*SleepAction',
  Capabilities: 'Add:[ Drop:[',
  NodeSelector: 'NodeSelectorTerms:[NodeSelectorTerm',
  PreferredSchedulingTerm: 'Weight:i Preference:NodeSelectorTerm',
  PodAffinityTerm:
    'LabelSelector Namespaces:[ TopologyKey:s NamespaceSelector MatchLabelKeys:[ MismatchLabelKeys:[',
  WeightedPodAffinityTerm: 'Weight:i PodAffinityTerm:PodAffinityTerm',
  ObjectFieldSelector: 'APIVersion:s FieldPath:s',
  ResourceFieldSelector: 'ContainerName:s Resource:s Divisor:q',
  SecretProjection: 'Name:s Items:[KeyToPath Optional',
  DownwardAPIProjection: 'Items:[DownwardAPIVolumeFile',
  ConfigMapProjection: 'Name:s Items:[KeyToPath Optional',
  ServiceAccountTokenProjection: 'Audience:s ExpirationSeconds:i Path:s',
  ConfigMapKeySelector: 'Name:s Key:s Optional',
  SecretKeySelector: 'Name:s Key:s Optional',
  FileKeySelector: 'VolumeName:s Path:s Key:s Optional',
  HTTPHeader: 'Name:s Value:s',
  PersistentVolumeClaimSpec: `
    AccessModes:[ Selector Resources:VolumeResourceRequirements VolumeName:s StorageClassName VolumeMode
    DataSource:*TypedLocalObjectReference DataSourceRef:*TypedObjectReference VolumeAttributesClassName
  `,
  VolumeResourceRequirements: 'Limits:{ Requests:{',
  TypedLocalObjectReference: 'APIGroup Kind:s Name:s',
  TypedObjectReference: 'APIGroup Kind:s Name:s Namespace',
  PersistentVolumeSource: `
    GCEPersistentDisk AWSElasticBlockStore HostPath:*HostPathVolumeSource Glusterfs NFS:*NFSVolumeSource RBD Quobyte
    ISCSI FlexVolume Cinder CephFS FC Flocker AzureFile VsphereVolume AzureDisk PhotonPersistentDisk PortworxVolume
    ScaleIO Local:*LocalVolumeSource StorageOS CSI:*CSIPersistentVolumeSource
  `,
  LocalVolumeSource: 'Path:s FSType',
  CSIPersistentVolumeSource: `
    Driver:s VolumeHandle:s ReadOnly:b FSType:s VolumeAttributes:{ ControllerPublishSecretRef
    NodeStageSecretRef NodePublishSecretRef ControllerExpandSecretRef NodeExpandSecretRef
  `,
  SleepAction: 'Seconds:i',
  NodeSelectorTerm: 'MatchExpressions:[NodeSelectorRequirement MatchFields:[NodeSelectorRequirement',
  NodeSelectorRequirement: 'Key:s Operator:s Values:[',
};

const ZERO: Record<string, unknown> = { s: '', i: 0, b: false, q: '0' };
/** Names whose JSON spelling cannot be derived from the Go spelling. */
const JSON_NAMES: Record<string, string> = { CephFS: 'cephfs', StorageOS: 'storageos' };

/** `DNSPolicy` -> `dnsPolicy`, `HTTPGet` -> `httpGet`, `Name` -> `name`. */
const jsonName = (name: string): string =>
  JSON_NAMES[name] ?? name.replace(/^([A-Z]+)(?=[A-Z][a-z]|$)|^[A-Z]/, (start) => start.toLowerCase());

export function internalSpec(spec: PodSpec): unknown {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers } = spec;
  // In the internal form, these five fields are in the security context.
  const moved = { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers };
  return struct('PodSpec', { ...spec, securityContext: { ...spec.securityContext, ...moved } });
}

/** A template. In the internal form, its metadata is embedded. */
export const internalTemplate = ({ metadata = {}, spec = {} }: PodTemplateSpec): unknown => ({
  ...metadata,
  ...(metadata.labels && { labels: sortedLabels(metadata.labels) }),
  Spec: internalSpec(spec),
});

export const internalSecurityContext = (security: ContainerSecurityContext): unknown =>
  struct('SecurityContext', { ...security });

export const internalClaimSpec = (spec: object): unknown => struct('PersistentVolumeClaimSpec', { ...spec });

export const internalVolumeSource = (spec: object): unknown => struct('PersistentVolumeSource', { ...spec });

function struct(type: string, value: Record<string, unknown>): unknown {
  const fields = (STRUCTS[type] ?? '').split(/\s+/).filter((field) => field !== '');
  return Object.fromEntries(
    fields.map((field) => {
      const [name = '', shape = ''] = field.split(':');
      return [name, shaped(shape, value[jsonName(name)])];
    }),
  );
}

function shaped(shape: string, value: unknown): unknown {
  if (shape in ZERO) return value ?? ZERO[shape];
  if (value === undefined || value === null) return /^[A-Z]/.test(shape) ? struct(shape, {}) : null;
  const type = shape.replace(/^[*[]/, '');
  if (type === '' || type === '{') return value;
  if (shape.startsWith('[')) return (value as Record<string, unknown>[]).map((item) => struct(type, item));
  return struct(type, value as Record<string, unknown>);
}
