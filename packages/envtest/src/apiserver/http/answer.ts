import type { KubeObject } from '@tidegate/kube';
import { ApiError, partialMetadata } from '@tidegate/serving';
import { entryBytes, isCurrent, readableOne } from '../served/codec.ts';
import { includeObject, toTable } from '../served/table.ts';
import type { Entry } from '../store/types.ts';
import type { Call } from './call.ts';
import { sendObject } from './send.ts';

const NEWLINE = Buffer.from('\n');

/** Sends a stored object, as stored bytes if the client accepts them. */
export async function answerEntry(
  call: Call,
  code: number,
  entry: Entry,
  object: () => KubeObject,
): Promise<void> {
  const { as, format } = call.representation;
  const { definition } = call.served;
  if (
    as === undefined &&
    format === 'json' &&
    (definition.convert === undefined || isCurrent(call.served, entry))
  ) {
    await call.exchange.bytes(code, 'application/json', [entryBytes(call.served, entry), NEWLINE]);
    return;
  }
  await answerObject(call, code, object());
}

/** Sends an object that is in the storage version in the format that the client requested. */
export async function answerObject(call: Call, code: number, stored: KubeObject): Promise<void> {
  const { served, representation, query } = call;
  const object = await readableOne(served, stored);
  const apiVersion = `meta.k8s.io/${representation.version}`;
  switch (representation.as) {
    case undefined:
      return sendObject(call.exchange, code, object, representation.format);
    case 'Table': {
      const { resourceVersion } = object.metadata;
      const table = toTable(served.version, [object], {
        apiVersion,
        include: includeObject(query),
        metadata: resourceVersion === undefined ? {} : { resourceVersion },
        now: call.core.now(),
      });
      return sendObject(call.exchange, code, table, representation.format);
    }
    case 'PartialObjectMetadata':
      return sendObject(call.exchange, code, partialMetadata(object, apiVersion), representation.format);
    default:
      throw new ApiError(406, 'NotAcceptable', `an object cannot be written as ${representation.as}`);
  }
}
