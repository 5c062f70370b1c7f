/**
 * The messages that decodeObject knows: kinds that change often and travel over slow links, and kinds that kubelets write.
 * Each line is a message; each word is a field, `number=name`:
 *
 *   `3=namespace`       a string, omitted when empty, as with `omitempty` in Go
 *   `7=generation:int`  another type: int, bool, time, micro, map (of strings), intstr, json, or a message
 *   `6=nodeName?`       a pointer in Go: present whenever it was sent, even if empty
 *   `4=addressType!`    present even when empty
 *   `2=endpoints:Endpoint[]`  a list
 */
const MESSAGES = {
  ObjectMeta:
    '1=name 2=generateName 3=namespace 4=selfLink 5=uid 6=resourceVersion 7=generation:int 8=creationTimestamp:time 9=deletionTimestamp:time 10=deletionGracePeriodSeconds:int? 11=labels:map 12=annotations:map 13=ownerReferences:OwnerReference[] 14=finalizers[] 15=clusterName 17=managedFields:ManagedFieldsEntry[]',
  OwnerReference: '5=apiVersion! 1=kind! 3=name! 4=uid! 6=controller:bool? 7=blockOwnerDeletion:bool?',
  ManagedFieldsEntry:
    '1=manager 2=operation 3=apiVersion 4=time:time 6=fieldsType 7=fieldsV1:json? 8=subresource',
  ListMeta: '1=selfLink 2=resourceVersion 3=continue 4=remainingItemCount:int?',
  Condition: '1=type! 2=status! 3=observedGeneration:int 4=lastTransitionTime:time! 5=reason! 6=message!',
  Status: '1=metadata:ListMeta 2=status 3=message 4=reason 5=details:StatusDetails? 6=code:int',
  StatusDetails: '1=name 2=group 3=kind 6=uid 4=causes:StatusCause[] 5=retryAfterSeconds:int',
  StatusCause: '1=reason 2=message 3=field',
  ObjectReference: '1=kind 2=namespace 3=name 4=uid 5=apiVersion 6=resourceVersion 7=fieldPath',

  EndpointSlice: '1=metadata:ObjectMeta 4=addressType! 2=endpoints:SliceEndpoint[]! 3=ports:SlicePort[]!',
  SliceEndpoint:
    '1=addresses[]! 2=conditions:EndpointConditions 3=hostname? 4=targetRef:ObjectReference? 5=deprecatedTopology:map 6=nodeName? 7=zone? 8=hints:EndpointHints?',
  EndpointSliceV1beta1:
    '1=metadata:ObjectMeta 4=addressType! 2=endpoints:SliceEndpointV1beta1[]! 3=ports:SlicePort[]!',
  SliceEndpointV1beta1:
    '1=addresses[]! 2=conditions:EndpointConditions 3=hostname? 4=targetRef:ObjectReference? 5=topology:map 6=nodeName? 7=hints:EndpointHints?',
  EndpointConditions: '1=ready:bool? 2=serving:bool? 3=terminating:bool?',
  EndpointHints: '1=forZones:Named[] 2=forNodes:Named[]',
  Named: '1=name!',
  SlicePort: '1=name? 2=protocol? 3=port:int? 4=appProtocol?',

  Endpoints: '1=metadata:ObjectMeta 2=subsets:EndpointSubset[]',
  EndpointSubset:
    '1=addresses:EndpointAddress[] 2=notReadyAddresses:EndpointAddress[] 3=ports:EndpointPort[]',
  EndpointAddress: '1=ip! 3=hostname 4=nodeName? 2=targetRef:ObjectReference?',
  EndpointPort: '1=name 2=port:int! 3=protocol 4=appProtocol?',

  Service: '1=metadata:ObjectMeta 2=spec:ServiceSpec 3=status:ServiceStatus',
  ServiceSpec:
    '1=ports:ServicePort[] 2=selector:map 3=clusterIP 18=clusterIPs[] 4=type 5=externalIPs[] 7=sessionAffinity 8=loadBalancerIP 9=loadBalancerSourceRanges[] 10=externalName 11=externalTrafficPolicy 12=healthCheckNodePort:int 13=publishNotReadyAddresses:bool 14=sessionAffinityConfig:SessionAffinityConfig? 16=topologyKeys[] 19=ipFamilies[] 17=ipFamilyPolicy? 20=allocateLoadBalancerNodePorts:bool? 21=loadBalancerClass? 22=internalTrafficPolicy? 23=trafficDistribution?',
  ServicePort: '1=name 2=protocol 6=appProtocol? 3=port:int! 4=targetPort:intstr! 5=nodePort:int',
  SessionAffinityConfig: '1=clientIP:ClientIPConfig?',
  ClientIPConfig: '1=timeoutSeconds:int?',
  ServiceStatus: '1=loadBalancer:LoadBalancerStatus 2=conditions:Condition[]',
  LoadBalancerStatus: '1=ingress:LoadBalancerIngress[]',
  LoadBalancerIngress: '1=ip 2=hostname 3=ipMode? 4=ports:PortStatus[]',
  PortStatus: '1=port:int! 2=protocol! 3=error?',

  TokenRequest: '1=metadata:ObjectMeta 2=spec:TokenRequestSpec 3=status:TokenRequestStatus',
  TokenRequestSpec: '1=audiences[]! 3=boundObjectRef:BoundObjectReference? 4=expirationSeconds:int?',
  TokenRequestStatus: '1=token! 2=expirationTimestamp:time!',
  BoundObjectReference: '1=kind 2=apiVersion 3=name 4=uid',

  Lease: '1=metadata:ObjectMeta 2=spec:LeaseSpec',
  LeaseSpec:
    '1=holderIdentity? 2=leaseDurationSeconds:int? 3=acquireTime:micro? 4=renewTime:micro? 5=leaseTransitions:int? 6=strategy? 7=preferredHolder?',

  Event:
    '1=metadata:ObjectMeta 2=involvedObject:ObjectReference 3=reason 4=message 5=source:EventSource 6=firstTimestamp:time! 7=lastTimestamp:time! 8=count:int 9=type 10=eventTime:micro! 11=series:EventSeries? 12=action 13=related:ObjectReference? 14=reportingComponent! 15=reportingInstance!',
  EventSource: '1=component 2=host',
  EventSeries: '1=count:int 2=lastObservedTime:micro!',
  EventsEvent:
    '1=metadata:ObjectMeta 2=eventTime:micro! 3=series:EventSeries? 4=reportingController 5=reportingInstance 6=action 7=reason 8=regarding:ObjectReference 9=related:ObjectReference? 10=note 11=type 12=deprecatedSource:EventSource 13=deprecatedFirstTimestamp:time! 14=deprecatedLastTimestamp:time! 15=deprecatedCount:int',
} as const;

type MessageName = keyof typeof MESSAGES;

const KINDS: Record<string, MessageName> = {
  'discovery.k8s.io/v1/EndpointSlice': 'EndpointSlice',
  'discovery.k8s.io/v1beta1/EndpointSlice': 'EndpointSliceV1beta1',
  'v1/Endpoints': 'Endpoints',
  'v1/Service': 'Service',
  'v1/Status': 'Status',
  'coordination.k8s.io/v1/Lease': 'Lease',
  'authentication.k8s.io/v1/TokenRequest': 'TokenRequest',
  'v1/Event': 'Event',
  'events.k8s.io/v1/Event': 'EventsEvent',
};

const READABLE = new Set([
  'discovery.k8s.io/v1/endpointslices',
  'discovery.k8s.io/v1beta1/endpointslices',
  '/v1/endpoints',
  '/v1/services',
]);

/** Whether a client should ask for this resource in protobuf: its lists are large, and decodeList can read them. */
export const readableInProtobuf = (group: string, version: string, resource: string): boolean =>
  READABLE.has(`${group}/${version}/${resource}`);

export type Scalar = 'string' | 'int' | 'bool' | 'time' | 'micro' | 'map' | 'intstr' | 'json';

export interface FieldType {
  name: string;
  type: Scalar | MessageType;
  repeated: boolean;
  pointer: boolean;
  always: boolean;
}

export interface MessageType {
  name: string;
  /** By field number. */
  fields: (FieldType | undefined)[];
  /** The fields that appear in JSON even if they were not sent: empty lists, strings and messages. */
  always: FieldType[];
}

const parsed = new Map<MessageName, MessageType>();

/** Undefined for kinds that are not in the table. */
export function messageOfKind(apiVersion: string, kind: string): MessageType | undefined {
  const name = KINDS[`${apiVersion}/${kind}`];
  return name === undefined ? undefined : message(name);
}

export const listMeta = (): MessageType => message('ListMeta');

function message(name: MessageName): MessageType {
  const known = parsed.get(name);
  if (known !== undefined) return known;
  const made: MessageType = { name, fields: [], always: [] };
  parsed.set(name, made);
  for (const word of MESSAGES[name].split(' ')) {
    const [, number = '', field = '', type = 'string', repeated, flag] =
      /^(\d+)=(\w+)(?::(\w+))?(\[\])?([?!])?$/.exec(word) ?? [];
    const isMessage = type in MESSAGES;
    const parsedField: FieldType = {
      name: field,
      type: isMessage ? message(type as MessageName) : (type as Scalar),
      repeated: repeated !== undefined,
      pointer: flag === '?',
      // Go encodes a struct that is not a pointer even when it is empty.
      always: flag === '!' || (isMessage && repeated === undefined && flag !== '?'),
    };
    made.fields[Number(number)] = parsedField;
    if (parsedField.always) made.always.push(parsedField);
  }
  return made;
}
