import type { KubeObject, Status } from '@tidegate/kube';
import { badRequest } from '@tidegate/serving';
import {
  type Deleted,
  type DeleteOptions,
  deleteObject,
  isNotFound,
  type PropagationPolicy,
} from '../operations/delete.ts';
import { decodeStored, readableOne } from '../served/codec.ts';
import { servedApiVersion } from '../served/registry.ts';
import { answerObject } from './answer.ts';
import { bodyFormat, mediaType, readBody } from './body.ts';
import type { Call } from './call.ts';
import { readBodyAs } from './decode.ts';
import { readPage } from './list.ts';
import { sendList, sendObject } from './send.ts';
import { optionsOf } from './write.ts';

/** Number of objects of a collection that are deleted in parallel. */
const PARALLEL = 16;

/**
 * Responds with a Status if the object is gone, and with the object if it waits for finalizers or its grace period.
 */
export async function serveDelete(call: Call): Promise<void> {
  const { core, served, info } = call;
  const options = await readDeleteOptions(call);
  const deleted = await deleteObject(core, {
    served,
    namespace: info.namespace,
    name: info.name,
    delete: options.delete,
    options: options.write,
  });
  if (deleted.gone && served.definition.returnsDeleted !== true) {
    await sendObject(call.exchange, 200, deletedStatus(call, deleted), call.representation.format);
  } else {
    await answerObject(call, 200, deleted.object);
  }
}

function deletedStatus(call: Call, deleted: Deleted): Status {
  const { definition } = call.served;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: call.info.name,
      ...(definition.group !== '' && { group: definition.group }),
      kind: definition.plural,
      uid: deleted.object.metadata.uid,
    },
    code: 200,
  };
}

/** Deletes every object that the selectors match, one by one: the collection as a whole is not atomic. */
export async function serveDeleteCollection(call: Call): Promise<void> {
  const { core, served, info } = call;
  const options = await readDeleteOptions(call);
  const page = readPage(core.store, {
    served,
    namespace: info.namespace,
    query: call.query,
    representation: call.representation,
  });
  const deleted: KubeObject[] = [];
  const queue = [...page.entries];
  const work = async (): Promise<void> => {
    for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
      try {
        const request = { served, namespace: entry.namespace, name: entry.name };
        const result = await deleteObject(core, {
          ...request,
          delete: options.delete,
          options: options.write,
        });
        deleted.push(await readableOne(served, result.object));
      } catch (error) {
        // Another client deleted the object in the meantime, so there is nothing left to do.
        if (!isNotFound(error)) throw error;
        deleted.push(await readableOne(served, decodeStored(entry)));
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  const items = served.definition.custom
    ? deleted
    : deleted.map(({ kind: _, apiVersion: __, ...item }) => item);
  const list = {
    kind: served.definition.listKind,
    apiVersion: servedApiVersion(served),
    metadata: page.metadata,
    items,
  };
  await sendList(call.exchange, 200, list, call.representation.format === 'protobuf' ? 'protobuf' : 'json');
}

/** Reads the options from the body, the query, or both. The body wins. */
async function readDeleteOptions(
  call: Call,
): Promise<{ delete: DeleteOptions; write: ReturnType<typeof optionsOf> }> {
  const { request } = call.exchange;
  const body = await readBody(request);
  const format = bodyFormat(mediaType(request));
  const parsed: Record<string, unknown> =
    body.length === 0 ? {} : readBodyAs('DeleteOptions', body, { format, fieldValidation: 'Ignore' }).value;
  const write = optionsOf(call, 'DeleteOptions');
  const { query } = call;
  const grace = numberOf(parsed.gracePeriodSeconds ?? query.get('gracePeriodSeconds'), 'gracePeriodSeconds');
  const dryRun = Array.isArray(parsed.dryRun) && parsed.dryRun.includes('All');
  return {
    write: { ...write, dryRun: write.dryRun || dryRun },
    delete: {
      ...(grace !== undefined && { gracePeriodSeconds: grace }),
      ...propagation(parsed, query),
      ...preconditions(parsed),
    },
  };
}

function numberOf(value: unknown, field: string): number | undefined {
  if (value === null || value === undefined || value === '') return undefined;
  const number = Number(value);
  if (!Number.isInteger(number)) throw badRequest(`${field}: ${JSON.stringify(value)} is not an integer`);
  return number;
}

function propagation(body: Record<string, unknown>, query: URLSearchParams): DeleteOptions {
  const policy = body.propagationPolicy ?? query.get('propagationPolicy') ?? undefined;
  if (policy !== undefined && policy !== '') return { propagationPolicy: policy as PropagationPolicy };
  // The deprecated form of propagationPolicy.
  const orphan = body.orphanDependents ?? query.get('orphanDependents') ?? undefined;
  if (orphan === undefined) return {};
  return { propagationPolicy: orphan === true || orphan === 'true' ? 'Orphan' : 'Background' };
}

function preconditions(body: Record<string, unknown>): DeleteOptions {
  const given = body.preconditions;
  if (typeof given !== 'object' || given === null) return {};
  const { uid, resourceVersion } = given as Record<string, unknown>;
  return {
    preconditions: {
      ...(typeof uid === 'string' && { uid }),
      ...(typeof resourceVersion === 'string' && { resourceVersion }),
    },
  };
}
