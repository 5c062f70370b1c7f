// How the Go structs of the API write their fields. OpenAPI does not describe this, but every response of the API
// server shows it: `hostNetwork: false` disappears, `replicas: 0` stays, and `resources: {}` appears without being
// set.
//
//   field*       a pointer: an explicit zero value stays
//   field{}      a struct: written even if empty
//   field!       written even if zero, although optional
//   field?       omitted if zero, although required
//   field:Name   a named string type, which error messages show
//
// Optional fields without a mark are omitted if they are zero or empty; required fields are always written.
// Type names are without the prefix `io.k8s.api.`.
export const structs = {
  'admissionregistration.v1.MutatingWebhook': `
    clientConfig{} failurePolicy*:v1.FailurePolicyType matchPolicy*:v1.MatchPolicyType
    reinvocationPolicy*:v1.ReinvocationPolicyType sideEffects*:v1.SideEffectClass timeoutSeconds*`,
  'admissionregistration.v1.MutatingWebhookConfiguration': 'metadata{}',
  'admissionregistration.v1.RuleWithOperations': 'operations:v1.OperationType scope*:v1.ScopeType',
  'admissionregistration.v1.ServiceReference': 'path* port*',
  'admissionregistration.v1.ValidatingWebhook': `
    clientConfig{} failurePolicy*:v1.FailurePolicyType matchPolicy*:v1.MatchPolicyType
    sideEffects*:v1.SideEffectClass timeoutSeconds*`,
  'admissionregistration.v1.ValidatingWebhookConfiguration': 'metadata{}',
  'admissionregistration.v1.WebhookClientConfig': 'url*',
  'apps.v1.ControllerRevision': 'data{} metadata{}',
  'apps.v1.DaemonSet': 'metadata{} spec{} status{}',
  'apps.v1.DaemonSetCondition':
    'lastTransitionTime{} status:v1.ConditionStatus type:v1.DaemonSetConditionType',
  'apps.v1.DaemonSetSpec': 'revisionHistoryLimit* template{} updateStrategy{}',
  'apps.v1.DaemonSetStatus': 'collisionCount*',
  'apps.v1.DaemonSetUpdateStrategy': 'type:v1.DaemonSetUpdateStrategyType',
  'apps.v1.Deployment': 'metadata{} spec{} status{}',
  'apps.v1.DeploymentCondition':
    'lastTransitionTime{} lastUpdateTime{} status:v1.ConditionStatus type:v1.DeploymentConditionType',
  'apps.v1.DeploymentSpec': 'progressDeadlineSeconds* replicas* revisionHistoryLimit* strategy{} template{}',
  'apps.v1.DeploymentStatus': 'collisionCount* terminatingReplicas*',
  'apps.v1.DeploymentStrategy': 'type:v1.DeploymentStrategyType',
  'apps.v1.ReplicaSet': 'metadata{} spec{} status{}',
  'apps.v1.ReplicaSetCondition':
    'lastTransitionTime{} status:v1.ConditionStatus type:v1.ReplicaSetConditionType',
  'apps.v1.ReplicaSetSpec': 'replicas* template{}',
  'apps.v1.ReplicaSetStatus': 'terminatingReplicas*',
  'apps.v1.RollingUpdateStatefulSetStrategy': 'partition*',
  'apps.v1.StatefulSet': 'metadata{} spec{} status{}',
  'apps.v1.StatefulSetCondition':
    'lastTransitionTime{} status:v1.ConditionStatus type:v1.StatefulSetConditionType',
  'apps.v1.StatefulSetOrdinals': 'start!',
  'apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy': `
    whenDeleted:v1.PersistentVolumeClaimRetentionPolicyType
    whenScaled:v1.PersistentVolumeClaimRetentionPolicyType`,
  'apps.v1.StatefulSetSpec': `
    podManagementPolicy:v1.PodManagementPolicyType replicas* revisionHistoryLimit* serviceName!
    template{} updateStrategy{}`,
  'apps.v1.StatefulSetStatus': 'availableReplicas! collisionCount*',
  'apps.v1.StatefulSetUpdateStrategy': 'type:v1.StatefulSetUpdateStrategyType',
  'authentication.v1.BoundObjectReference': 'uid:types.UID',
  'authentication.v1.SelfSubjectReview': 'metadata{} status{}',
  'authentication.v1.SelfSubjectReviewStatus': 'userInfo{}',
  'authentication.v1.TokenRequest': 'metadata{} spec{} status{}',
  'authentication.v1.TokenRequestSpec': 'audiences! expirationSeconds*',
  'authentication.v1.TokenRequestStatus': 'expirationTimestamp{} token!',
  'authentication.v1.TokenReview': 'metadata{} spec{} status{}',
  'authentication.v1.TokenReviewSpec': 'token?',
  'authentication.v1.TokenReviewStatus': 'user{}',
  'authorization.v1.LocalSubjectAccessReview': 'metadata{} spec{} status{}',
  'authorization.v1.SelfSubjectAccessReview': 'metadata{} spec{} status{}',
  'authorization.v1.SelfSubjectRulesReview': 'metadata{} spec{} status{}',
  'authorization.v1.SubjectAccessReview': 'metadata{} spec{} status{}',
  'autoscaling.v1.Scale': 'metadata{} spec{} status{}',
  'batch.v1.CronJob': 'metadata{} spec{} status{}',
  'batch.v1.CronJobSpec': `
    concurrencyPolicy:v1.ConcurrencyPolicy failedJobsHistoryLimit* jobTemplate{}
    startingDeadlineSeconds* successfulJobsHistoryLimit* suspend* timeZone*`,
  'batch.v1.Job': 'metadata{} spec{} status{}',
  'batch.v1.JobCondition':
    'lastProbeTime{} lastTransitionTime{} status:v1.ConditionStatus type:v1.JobConditionType',
  'batch.v1.JobSpec': `
    activeDeadlineSeconds* backoffLimit* backoffLimitPerIndex* completionMode*:v1.CompletionMode
    completions* managedBy* manualSelector* maxFailedIndexes* parallelism*
    podReplacementPolicy*:v1.PodReplacementPolicy suspend* template{} ttlSecondsAfterFinished*`,
  'batch.v1.JobStatus': 'failedIndexes* ready* terminating*',
  'batch.v1.JobTemplateSpec': 'metadata{} spec{}',
  'batch.v1.PodFailurePolicyOnExitCodesRequirement':
    'containerName* operator:v1.PodFailurePolicyOnExitCodesOperator',
  'batch.v1.PodFailurePolicyOnPodConditionsPattern': 'status!:v1.ConditionStatus type:v1.PodConditionType',
  'batch.v1.PodFailurePolicyRule': 'action:v1.PodFailurePolicyAction',
  'batch.v1.SuccessPolicyRule': 'succeededCount* succeededIndexes*',
  'batch.v1.UncountedTerminatedPods': 'failed:types.UID succeeded:types.UID',
  'certificates.v1.CertificateSigningRequest': 'metadata{} spec{} status{}',
  'certificates.v1.CertificateSigningRequestCondition':
    'lastTransitionTime{} lastUpdateTime{} status:v1.ConditionStatus type:v1.RequestConditionType',
  'certificates.v1.CertificateSigningRequestSpec': 'expirationSeconds* usages:v1.KeyUsage',
  'coordination.v1.Lease': 'metadata{} spec{}',
  'coordination.v1.LeaseSpec': `
    holderIdentity* leaseDurationSeconds* leaseTransitions* preferredHolder*
    strategy*:v1.CoordinatedLeaseStrategy`,
  'core.v1.AppArmorProfile': 'localhostProfile* type:v1.AppArmorProfileType',
  'core.v1.AttachedVolume': 'name:v1.UniqueVolumeName',
  'core.v1.AzureDiskVolumeSource':
    'cachingMode*:v1.AzureDataDiskCachingMode fsType* kind*:v1.AzureDataDiskKind readOnly*',
  'core.v1.Binding': 'metadata{} target{}',
  'core.v1.CSIVolumeSource': 'fsType* readOnly*',
  'core.v1.Capabilities': 'add:v1.Capability drop:v1.Capability',
  'core.v1.ClientIPConfig': 'timeoutSeconds*',
  'core.v1.ClusterTrustBundleProjection': 'name* optional* signerName*',
  'core.v1.ConfigMap': 'immutable* metadata{}',
  'core.v1.ConfigMapEnvSource': 'optional*',
  'core.v1.ConfigMapKeySelector': 'optional*',
  'core.v1.ConfigMapNodeConfigSource': 'uid:types.UID',
  'core.v1.ConfigMapProjection': 'optional*',
  'core.v1.ConfigMapVolumeSource': 'defaultMode* optional*',
  'core.v1.Container': `
    imagePullPolicy:v1.PullPolicy resources{} restartPolicy*:v1.ContainerRestartPolicy
    terminationMessagePolicy:v1.TerminationMessagePolicy`,
  'core.v1.ContainerImage': 'names!',
  'core.v1.ContainerPort': 'protocol:v1.Protocol',
  'core.v1.ContainerResizePolicy':
    'resourceName:v1.ResourceName restartPolicy:v1.ResourceResizeRestartPolicy',
  'core.v1.ContainerRestartRule': 'action?:v1.ContainerRestartRuleAction',
  'core.v1.ContainerRestartRuleOnExitCodes': 'operator?:v1.ContainerRestartRuleOnExitCodesOperator',
  'core.v1.ContainerStateRunning': 'startedAt{}',
  'core.v1.ContainerStateTerminated': 'finishedAt{} startedAt{}',
  'core.v1.ContainerStatus': 'lastState{} started* state{} stopSignal*:v1.Signal',
  'core.v1.DownwardAPIVolumeFile': 'mode*',
  'core.v1.DownwardAPIVolumeSource': 'defaultMode*',
  'core.v1.EmptyDirVolumeSource': 'medium:v1.StorageMedium',
  'core.v1.EndpointAddress': 'nodeName*',
  'core.v1.EndpointPort': 'appProtocol* protocol:v1.Protocol',
  'core.v1.Endpoints': 'metadata{}',
  'core.v1.EphemeralContainer': `
    imagePullPolicy:v1.PullPolicy resources{} restartPolicy*:v1.ContainerRestartPolicy
    terminationMessagePolicy:v1.TerminationMessagePolicy`,
  'core.v1.Event': `
    eventTime{} firstTimestamp{} involvedObject{} lastTimestamp{} metadata{} reportingComponent!
    reportingInstance! source{}`,
  'core.v1.EventSeries': 'lastObservedTime{}',
  'core.v1.FCVolumeSource': 'lun*',
  'core.v1.FileKeySelector': 'optional*',
  'core.v1.GRPCAction': 'service*',
  'core.v1.HTTPGetAction': 'port{} scheme:v1.URIScheme',
  'core.v1.HostPathVolumeSource': 'type*:v1.HostPathType',
  'core.v1.ISCSIVolumeSource': 'initiatorName*',
  'core.v1.ImageVolumeSource': 'pullPolicy:v1.PullPolicy',
  'core.v1.ImageVolumeStatus': 'imageRef?',
  'core.v1.KeyToPath': 'mode*',
  'core.v1.Lifecycle': 'stopSignal*:v1.Signal',
  'core.v1.LoadBalancerIngress': 'ipMode*:v1.LoadBalancerIPMode',
  'core.v1.ModifyVolumeStatus': 'status:v1.PersistentVolumeClaimModifyVolumeStatus',
  'core.v1.Namespace': 'metadata{} spec{} status{}',
  'core.v1.NamespaceCondition':
    'lastTransitionTime{} status:v1.ConditionStatus type:v1.NamespaceConditionType',
  'core.v1.NamespaceSpec': 'finalizers:v1.FinalizerName',
  'core.v1.NamespaceStatus': 'phase:v1.NamespacePhase',
  'core.v1.Node': 'metadata{} spec{} status{}',
  'core.v1.NodeAddress': 'type:v1.NodeAddressType',
  'core.v1.NodeCondition':
    'lastHeartbeatTime{} lastTransitionTime{} status:v1.ConditionStatus type:v1.NodeConditionType',
  'core.v1.NodeDaemonEndpoints': 'kubeletEndpoint{}',
  'core.v1.NodeFeatures': 'supplementalGroupsPolicy*',
  'core.v1.NodeRuntimeHandler': 'name!',
  'core.v1.NodeRuntimeHandlerFeatures': 'recursiveReadOnlyMounts* userNamespaces*',
  'core.v1.NodeSelectorRequirement': 'operator:v1.NodeSelectorOperator',
  'core.v1.NodeStatus': 'daemonEndpoints{} nodeInfo{} phase:v1.NodePhase volumesInUse:v1.UniqueVolumeName',
  'core.v1.NodeSwapStatus': 'capacity*',
  'core.v1.ObjectReference': 'uid:types.UID',
  'core.v1.PersistentVolumeClaim': 'metadata{} spec{} status{}',
  'core.v1.PersistentVolumeClaimCondition': `
    lastProbeTime{} lastTransitionTime{} status:v1.ConditionStatus
    type:v1.PersistentVolumeClaimConditionType`,
  'core.v1.PersistentVolumeClaimSpec': `
    accessModes:v1.PersistentVolumeAccessMode resources{} storageClassName* volumeAttributesClassName*
    volumeMode*:v1.PersistentVolumeMode`,
  'core.v1.PersistentVolumeClaimStatus': `
    accessModes:v1.PersistentVolumeAccessMode currentVolumeAttributesClassName*
    phase:v1.PersistentVolumeClaimPhase`,
  'core.v1.PersistentVolumeClaimTemplate': 'metadata{} spec{}',
  'core.v1.Pod': 'metadata{} spec{} status{}',
  'core.v1.PodCertificateProjection': 'keyType? maxExpirationSeconds* signerName?',
  'core.v1.PodCondition':
    'lastProbeTime{} lastTransitionTime{} status:v1.ConditionStatus type:v1.PodConditionType',
  'core.v1.PodDNSConfigOption': 'value*',
  'core.v1.PodOS': 'name:v1.OSName',
  'core.v1.PodReadinessGate': 'conditionType:v1.PodConditionType',
  'core.v1.PodResourceClaim': 'resourceClaimName* resourceClaimTemplateName*',
  'core.v1.PodResourceClaimStatus': 'resourceClaimName*',
  'core.v1.PodSchedulingGroup': 'podGroupName*',
  'core.v1.PodSecurityContext': `
    fsGroup* fsGroupChangePolicy*:v1.PodFSGroupChangePolicy runAsGroup* runAsNonRoot* runAsUser*
    seLinuxChangePolicy*:v1.PodSELinuxChangePolicy supplementalGroupsPolicy*:v1.SupplementalGroupsPolicy`,
  'core.v1.PodSpec': `
    activeDeadlineSeconds* automountServiceAccountToken* dnsPolicy:v1.DNSPolicy enableServiceLinks*
    hostUsers* hostnameOverride* preemptionPolicy*:v1.PreemptionPolicy priority*
    restartPolicy:v1.RestartPolicy runtimeClassName* setHostnameAsFQDN* shareProcessNamespace*
    terminationGracePeriodSeconds*`,
  'core.v1.PodStatus': 'phase:v1.PodPhase qosClass:v1.PodQOSClass resize:v1.PodResizeStatus',
  'core.v1.PodTemplate': 'metadata{} template{}',
  'core.v1.PodTemplateSpec': 'metadata{} spec{}',
  'core.v1.PortStatus': 'error* protocol:v1.Protocol',
  'core.v1.PreferredSchedulingTerm': 'preference{}',
  'core.v1.Probe': 'terminationGracePeriodSeconds*',
  'core.v1.ProjectedVolumeSource': 'defaultMode* sources!',
  'core.v1.ResourceFieldSelector': 'divisor{}',
  'core.v1.ResourceHealth': 'health:v1.ResourceHealthStatus message* resourceID:v1.ResourceID',
  'core.v1.ResourceStatus': 'name:v1.ResourceName',
  'core.v1.SeccompProfile': 'localhostProfile* type:v1.SeccompProfileType',
  'core.v1.Secret': 'immutable* metadata{} type:v1.SecretType',
  'core.v1.SecretEnvSource': 'optional*',
  'core.v1.SecretKeySelector': 'optional*',
  'core.v1.SecretProjection': 'optional*',
  'core.v1.SecretVolumeSource': 'defaultMode* optional*',
  'core.v1.SecurityContext': `
    allowPrivilegeEscalation* privileged* procMount*:v1.ProcMountType readOnlyRootFilesystem*
    runAsGroup* runAsNonRoot* runAsUser*`,
  'core.v1.Service': 'metadata{} spec{} status{}',
  'core.v1.ServiceAccount': 'automountServiceAccountToken* metadata{}',
  'core.v1.ServiceAccountTokenProjection': 'expirationSeconds*',
  'core.v1.ServicePort': 'appProtocol* protocol:v1.Protocol targetPort{}',
  'core.v1.ServiceSpec': `
    allocateLoadBalancerNodePorts* externalTrafficPolicy:v1.ServiceExternalTrafficPolicy
    internalTrafficPolicy*:v1.ServiceInternalTrafficPolicy ipFamilies:v1.IPFamily
    ipFamilyPolicy*:v1.IPFamilyPolicy loadBalancerClass* sessionAffinity:v1.ServiceAffinity
    trafficDistribution* type:v1.ServiceType`,
  'core.v1.ServiceStatus': 'loadBalancer{}',
  'core.v1.TCPSocketAction': 'port{}',
  'core.v1.Taint': 'effect:v1.TaintEffect',
  'core.v1.Toleration': 'effect:v1.TaintEffect operator:v1.TolerationOperator tolerationSeconds*',
  'core.v1.TopologySpreadConstraint': `
    minDomains* nodeAffinityPolicy*:v1.NodeInclusionPolicy nodeTaintsPolicy*:v1.NodeInclusionPolicy
    whenUnsatisfiable:v1.UnsatisfiableConstraintAction`,
  'core.v1.TypedLocalObjectReference': 'apiGroup*',
  'core.v1.TypedObjectReference': 'apiGroup* namespace*',
  'core.v1.VolumeMount':
    'mountPropagation*:v1.MountPropagationMode recursiveReadOnly*:v1.RecursiveReadOnlyMode',
  'core.v1.VolumeMountStatus': 'recursiveReadOnly*:v1.RecursiveReadOnlyMode',
  'core.v1.WeightedPodAffinityTerm': 'podAffinityTerm{}',
  'core.v1.WindowsSecurityContextOptions':
    'gmsaCredentialSpec* gmsaCredentialSpecName* hostProcess* runAsUserName*',
  'discovery.v1.Endpoint': 'conditions{} hostname* nodeName* zone*',
  'discovery.v1.EndpointConditions': 'ready* serving* terminating*',
  'discovery.v1.EndpointPort': 'appProtocol* name* port* protocol*:v1.Protocol',
  'discovery.v1.EndpointSlice': 'addressType:v1.AddressType endpoints! metadata{} ports!',
  'events.v1.Event': `
    deprecatedFirstTimestamp{} deprecatedLastTimestamp{} deprecatedSource{} eventTime{} metadata{}
    regarding{}`,
  'events.v1.EventSeries': 'lastObservedTime{}',
  'extensions.v1beta1.HTTPIngressPath': 'backend{} pathType*:v1beta1.PathType',
  'extensions.v1beta1.Ingress': 'metadata{} spec{} status{}',
  'extensions.v1beta1.IngressBackend': 'servicePort{}',
  'extensions.v1beta1.IngressSpec': 'ingressClassName*',
  'extensions.v1beta1.IngressStatus': 'loadBalancer{}',
  'networking.v1.HTTPIngressPath': 'backend{} pathType*:v1.PathType',
  'networking.v1.Ingress': 'metadata{} spec{} status{}',
  'networking.v1.IngressClass': 'metadata{} spec{}',
  'networking.v1.IngressClassParametersReference': 'apiGroup* namespace* scope*',
  'networking.v1.IngressPortStatus': 'error* protocol:v1.Protocol',
  'networking.v1.IngressServiceBackend': 'port{}',
  'networking.v1.IngressSpec': 'ingressClassName*',
  'networking.v1.IngressStatus': 'loadBalancer{}',
  'networking.v1.NetworkPolicy': 'metadata{} spec{}',
  'networking.v1.NetworkPolicyPort': 'endPort* protocol*:v1.Protocol',
  'networking.v1.NetworkPolicySpec': 'podSelector{} policyTypes:v1.PolicyType',
  'networking.v1beta1.HTTPIngressPath': 'backend{} pathType*:v1beta1.PathType',
  'networking.v1beta1.Ingress': 'metadata{} spec{} status{}',
  'networking.v1beta1.IngressBackend': 'servicePort{}',
  'networking.v1beta1.IngressClass': 'metadata{} spec{}',
  'networking.v1beta1.IngressClassParametersReference': 'apiGroup* namespace* scope*',
  'networking.v1beta1.IngressSpec': 'ingressClassName*',
  'networking.v1beta1.IngressStatus': 'loadBalancer{}',
  'policy.v1.Eviction': 'metadata{}',
  'policy.v1.PodDisruptionBudget': 'metadata{} spec{} status{}',
  'policy.v1.PodDisruptionBudgetSpec': 'unhealthyPodEvictionPolicy*:v1.UnhealthyPodEvictionPolicyType',
  'policy.v1.PodDisruptionBudgetStatus': 'currentHealthy! desiredHealthy! disruptionsAllowed! expectedPods!',
  'rbac.v1.ClusterRole': 'metadata{} rules!',
  'rbac.v1.ClusterRoleBinding': 'metadata{} roleRef{}',
  'rbac.v1.Role': 'metadata{} rules!',
  'rbac.v1.RoleBinding': 'metadata{} roleRef{}',
  'rbac.v1.RoleRef': 'apiGroup!',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceConversion':
    'strategy:v1.ConversionStrategyType',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition':
    'metadata{} spec{} status{}',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionCondition':
    'lastTransitionTime{} status:v1.ConditionStatus type:v1.CustomResourceDefinitionConditionType',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec':
    'names{} scope:v1.ResourceScope',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus':
    'acceptedNames{} conditions! storedVersions!',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion':
    'deprecationWarning*',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceScale':
    'labelSelectorPath*',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps': `
    $ref* $schema:v1.JSONSchemaURL maxItems* maxLength* maxProperties* maximum* minItems* minLength*
    minProperties* minimum* multipleOf* x-kubernetes-list-type* x-kubernetes-map-type*
    x-kubernetes-preserve-unknown-fields*`,
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference': 'path* port*',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule':
    'optionalOldSelf* reason*:v1.FieldValueErrorReason',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookClientConfig': 'url*',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Condition': 'lastTransitionTime{} status:v1.ConditionStatus',
  'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions': `
    gracePeriodSeconds* ignoreStoreReadErrorWithClusterBreakingPotential* orphanDependents*
    propagationPolicy*:v1.DeletionPropagation`,
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement': 'operator:v1.FieldSelectorOperator',
  'io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement': 'operator:v1.LabelSelectorOperator',
  'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta': 'remainingItemCount*',
  'io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry': 'operation:v1.ManagedFieldsOperationType',
  'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': 'deletionGracePeriodSeconds* uid:types.UID',
  'io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference': 'blockOwnerDeletion* controller* uid:types.UID',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions': 'resourceVersion* uid*:types.UID',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Status': 'reason:v1.StatusReason',
  'io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause': 'reason:v1.CauseType',
  'io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails': 'uid:types.UID',
};
