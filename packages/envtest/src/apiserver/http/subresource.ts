import { childController, type KubeObject, ownField } from '@tidegate/kube';
import { methodNotAllowed, noSuchPath, notFound } from '@tidegate/serving';
import { contextOf, keyOf, refOf } from '../operations/core.ts';
import { scaleOf, scalePrinter, withScale } from '../operations/scale.ts';
import { updateObject } from '../operations/update.ts';
import type { Connect, Subresource } from '../resources/types.ts';
import { builtinSchema } from '../schema/builtin.ts';
import { decodeStored, readableOne, storable } from '../served/codec.ts';
import type { Served } from '../served/registry.ts';
import { answerObject } from './answer.ts';
import { bodyFormat, mediaType, readBody } from './body.ts';
import { type Call, targetOf } from './call.ts';
import { decodeObject } from './decode.ts';
import { applyPatch, checkPatchType, readPatch, servePatch } from './patch.ts';
import { parseProxyName } from './proxy-name.ts';
import { sendObject } from './send.ts';
import { answer, optionsOf, serveGet, serveUpdate } from './write.ts';
import { fieldValidation } from './write-options.ts';

/** `status` is a view of the object, `scale` is a small object of its own, and all others have handlers. */
export async function serveSubresource(call: Call): Promise<void> {
  const { info, served } = call;
  const subresource = ownField(served.definition.subresources, info.subresource);
  const isTooLong = info.subpath !== '' && !isProxy(call);
  if (subresource === undefined || info.name === '' || isTooLong) {
    throw served.definition.custom ? notFound(refOf(served.definition), info.name) : noSuchPath();
  }
  if (!subresource.verbs.includes(info.verb)) throw methodNotAllowed();
  if (subresource.connect !== undefined) return serveConnected(call, subresource.connect);
  if (info.subresource === 'scale') return serveScale(call, subresource);
  if (subresource.handle !== undefined) return serveHandled(call, subresource);
  if (info.verb === 'get') return serveGet(call);
  return info.verb === 'patch' ? servePatch(call) : serveUpdate(call);
}

/** Only `proxy` accepts further path segments. */
const isProxy = ({ info }: Call): boolean => info.subresource === 'proxy';

async function serveConnected(call: Call, connect: Connect): Promise<void> {
  const { info, served, query, exchange } = call;
  const target = isProxy(call)
    ? parseProxyName(info.name, served.definition.singular)
    : { scheme: '', name: info.name, port: '' };
  const parent = parentOf({ ...call, info: { ...info, name: target.name } });
  const { controller, release } = childController(call.signal);
  exchange.response.once('close', () => controller.abort());
  try {
    await connect({ parent, target, subpath: info.subpath, query, exchange, signal: controller.signal });
  } finally {
    release();
  }
}

async function serveScale(call: Call, subresource: Subresource): Promise<void> {
  const { core, served, info, exchange } = call;
  const { definition } = served;
  const scaleServed = asServed(served, subresource);
  if (info.verb === 'get') {
    return answerObject({ ...call, served: scaleServed }, 200, scaleOf(definition, parentOf(call)));
  }
  const options = optionsOf(call, info.verb === 'patch' ? 'PatchOptions' : 'UpdateOptions');
  const type = mediaType(exchange.request);
  if (info.verb === 'patch') checkPatchType(scaleServed, type);
  const body = await readBody(exchange.request);
  const checks = { fieldValidation: fieldValidation('UpdateOptions', call.query), warn: options.warn };
  const wanted = (current: KubeObject): KubeObject => {
    if (info.verb === 'update') {
      return decodeObject(scaleServed, body, { ...checks, format: bodyFormat(type) });
    }
    const patch = readPatch(type, body.toString('utf8'), checks);
    return applyPatch(scaleServed, scaleOf(definition, current), patch, checks);
  };
  const updated = await updateObject(core, {
    served,
    namespace: info.namespace,
    name: info.name,
    subresource: 'scale',
    options,
    retries: info.verb === 'patch',
    change: async (current) =>
      storable(served, withScale(definition, await readableOne(served, current), wanted(current))),
  });
  await answerObject({ ...call, served: scaleServed }, 200, scaleOf(definition, updated.object));
}

/**
 * A handler may only respond, or also replace the parent object. If another write came first, the handler runs again
 * on the new parent.
 */
async function serveHandled(call: Call, subresource: Subresource): Promise<void> {
  const { core, served, info, exchange } = call;
  const { handle } = subresource;
  if (handle === undefined) throw noSuchPath();
  const parent = parentOf(call);
  const options = optionsOf(call, 'CreateOptions');
  const bodyServed = asServed(served, subresource);
  const body =
    info.verb === 'get'
      ? parent
      : decodeObject(bodyServed, await readBody(exchange.request), {
          format: bodyFormat(mediaType(exchange.request)),
          fieldValidation: fieldValidation('CreateOptions', call.query),
          warn: options.warn,
        });
  const own = subresource.kind === served.definition.kind;
  const act = async (on: KubeObject): ReturnType<typeof handle> =>
    handle({
      verb: info.verb,
      parent: on,
      body: own ? await storable(served, body) : body,
      context: contextOf(core, options),
    });
  let result = await act(parent);
  const code = result.code ?? (info.verb === 'create' ? 201 : 200);
  if (result.replace !== undefined) {
    // Only a resourceVersion from the client is a precondition; the one that we read ourselves is not.
    const resourceVersion = own ? body.metadata.resourceVersion : undefined;
    let actedOn = parent.metadata.resourceVersion;
    const updated = await updateObject(core, {
      ...targetOf(call),
      options,
      change: async (current) => {
        if (current.metadata.resourceVersion !== actedOn) result = await act(current);
        actedOn = current.metadata.resourceVersion;
        const replace = structuredClone(result.replace ?? current);
        return { ...replace, metadata: { ...replace.metadata, resourceVersion } };
      },
    });
    if (result.respond === undefined) return answer(call, code, updated);
  }
  await sendObject(exchange, code, result.respond ?? parent, call.representation.format);
}

function parentOf(call: Call): KubeObject {
  const { core, served, info } = call;
  const entry = core.store.get(keyOf(served.definition, info.namespace, info.name));
  if (entry === undefined) throw notFound(refOf(served.definition), info.name);
  return decodeStored(entry);
}

/** Treats the kind of a subresource as a resource, so that it can be decoded and patched. */
function asServed(served: Served, subresource: Subresource): Served {
  const { group, version, kind } = subresource;
  if (kind === served.definition.kind) return served;
  const schema = builtinSchema(group === '' ? version : `${group}/${version}`, kind);
  return {
    definition: { ...served.definition, group, kind, custom: false },
    version: { name: version, schema, printer: kind === 'Scale' ? scalePrinter : served.version.printer },
  };
}
