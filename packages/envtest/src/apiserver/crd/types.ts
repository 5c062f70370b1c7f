/** The CustomResourceDefinition after decoding: types are checked, but every field may be missing. */
import type { Condition, KubeObject } from '@tidegate/kube';
import type { Schema } from '../schema/types.ts';

export interface Names {
  plural?: string;
  singular?: string;
  kind?: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

export interface PrinterColumn {
  name?: string;
  type?: string;
  format?: string;
  description?: string;
  priority?: number;
  jsonPath?: string;
}

export interface ScaleSubresource {
  specReplicasPath?: string;
  statusReplicasPath?: string;
  labelSelectorPath?: string;
}

export interface Subresources {
  status?: Record<string, never>;
  scale?: ScaleSubresource;
}

export interface CrdVersion {
  name?: string;
  served?: boolean;
  storage?: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: Schema };
  subresources?: Subresources;
  additionalPrinterColumns?: PrinterColumn[];
  selectableFields?: { jsonPath?: string }[];
}

export interface Conversion {
  strategy?: string;
  webhook?: { clientConfig?: { url?: string; service?: object }; conversionReviewVersions?: string[] };
}

export interface CrdStatus {
  conditions: Condition[] | null;
  acceptedNames: Names;
  storedVersions: string[];
}

export interface CustomResourceDefinition extends KubeObject {
  spec: {
    group?: string;
    names?: Names;
    scope?: string;
    versions?: CrdVersion[] | null;
    conversion?: Conversion;
    preserveUnknownFields?: boolean;
  };
  status?: CrdStatus;
}
