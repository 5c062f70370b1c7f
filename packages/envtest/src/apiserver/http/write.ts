import type { KubeObject } from '@tidegate/kube';
import { badRequest, methodNotAllowed, notFound } from '@tidegate/serving';
import { contextOf, keyOf, refOf, type Written } from '../operations/core.ts';
import { createObject } from '../operations/create.ts';
import { updateObject } from '../operations/update.ts';
import { decodeStored, storable } from '../served/codec.ts';
import { computedList } from '../served/computed.ts';
import { answerEntry, answerObject } from './answer.ts';
import { bodyFormat, mediaType, readBody } from './body.ts';
import { type Call, targetOf } from './call.ts';
import { decodeObject } from './decode.ts';
import { sendObject } from './send.ts';
import { fieldValidation, writeOptions } from './write-options.ts';

export async function serveGet(call: Call): Promise<void> {
  const { core, served, info } = call;
  const { definition } = served;
  const computed = computedList(core.store, definition, info.namespace, core.now());
  const entry =
    computed === undefined
      ? core.store.get(keyOf(definition, info.namespace, info.name))
      : computed.entries.find(({ name }) => name === info.name);
  if (entry === undefined) throw notFound(refOf(served.definition), info.name);
  await answerEntry(call, 200, entry, () => decodeStored(entry));
}

/** Serves a POST. Reviews, for example SubjectAccessReview, are answered and not stored. */
export async function serveCreate(call: Call): Promise<void> {
  const { core, served, info, exchange } = call;
  const { definition } = served;
  const options = optionsOf(call, 'CreateOptions');
  const object = await readObject(call, 'CreateOptions');
  if (definition.namespaced && info.namespace === '') {
    throw methodNotAllowed();
  }
  if (definition.review !== undefined) {
    definition.strategy.defaults?.(object);
    const reviewed = await definition.review(object, contextOf(core, options));
    await sendObject(exchange, 201, reviewed, call.representation.format);
    return;
  }
  const stored = await storable(served, object);
  definition.strategy.defaults?.(stored);
  await answer(
    call,
    201,
    await createObject(core, { served, object: stored, namespace: info.namespace, options }),
  );
}

/** Serves a PUT. Kinds with `createOnUpdate` are created if they do not exist. */
export async function serveUpdate(call: Call): Promise<void> {
  const { core, served, info } = call;
  const { definition } = served;
  const options = optionsOf(call, 'UpdateOptions');
  const object = await storable(served, await readObject(call, 'UpdateOptions'));
  definition.strategy.defaults?.(object);
  if ((object.metadata.name ?? '') !== info.name) {
    throw badRequest(
      (object.metadata.name ?? '') === ''
        ? 'name must be provided'
        : `the name of the object (${object.metadata.name}) does not match the name on the URL (${info.name})`,
    );
  }
  const missing = core.store.get(keyOf(definition, info.namespace, info.name)) === undefined;
  if (missing && definition.createOnUpdate === true && info.subresource === '') {
    const created = await createObject(core, { served, object, namespace: info.namespace, options });
    await answer(call, 201, created);
    return;
  }
  const updated = await updateObject(core, {
    ...targetOf(call),
    options,
    change: () => structuredClone(object),
  });
  await answer(call, 200, updated);
}

export const optionsOf = (call: Call, kind: string): ReturnType<typeof writeOptions> =>
  writeOptions(kind, call.query, call.exchange.request, call.user, (m) => call.exchange.warn(m));

/** Decodes the object in the body against the schema of the kind, in the version of the request. */
async function readObject(call: Call, kind: string): Promise<KubeObject> {
  const { exchange, served, query } = call;
  const format = bodyFormat(mediaType(exchange.request));
  return decodeObject(served, await readBody(exchange.request), {
    format,
    fieldValidation: fieldValidation(kind, query),
    warn: (message) => exchange.warn(message),
  });
}

/** Sends the result of a write. After a dry run there is no stored entry, so the object is encoded. */
export async function answer(call: Call, code: number, written: Written): Promise<void> {
  if (written.entry === undefined) await answerObject(call, code, written.object);
  else await answerEntry(call, code, written.entry, () => written.object);
}
