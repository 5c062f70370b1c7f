// An admission webhook for the case webhook-calls: `node webhook-server.js DIRECTORY`. The directory has tls.key and
// tls.crt, and the server writes its port there. The response depends on the path and on the data of the object.
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';

/** The case stops the server. This only ends one whose case was interrupted. */
const LIFETIME_MS = 1_200_000;
const directory = process.argv[2];

const answers = {
  '/validate': ({ operation, object, oldObject }) => {
    const data = (object ?? oldObject).data ?? {};
    const warnings = data.warn ? [data.warn] : undefined;
    if (data.deny === undefined || (data.on ?? operation) !== operation) return { allowed: true, warnings };
    if (data.deny === '') return { allowed: false };
    const status = {
      message: `${operation}: ${data.deny}`,
      code: Number(data.code ?? 403),
      reason: data.reason,
    };
    return { allowed: false, warnings, status };
  },
  '/mutate': ({ object }) => {
    const patch = [
      { op: 'add', path: '/metadata/labels', value: { ...object.metadata.labels, mutated: 'yes' } },
    ];
    if (object.data?.patch) patch.push(JSON.parse(object.data.patch));
    return {
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
    };
  },
};

function respond(path, review, response) {
  const { uid } = review.request;
  const reply = (body) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body));
  const { apiVersion, kind } = review;
  if (path === '/slow') return;
  if (path === '/broken') response.writeHead(500).end('out of order');
  else if (path === '/text') response.end('not json');
  else if (path === '/stranger') reply({ apiVersion, kind, response: { uid: 'another', allowed: true } });
  else if (path === '/empty') reply({ apiVersion, kind });
  else reply({ apiVersion, kind, response: { uid, ...answers[path](review.request) } });
}

const server = createServer(
  { key: readFileSync(join(directory, 'tls.key')), cert: readFileSync(join(directory, 'tls.crt')) },
  async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const path = new URL(request.url, 'https://localhost').pathname;
    respond(path, JSON.parse(Buffer.concat(chunks).toString()), response);
  },
);
server.listen(0, '127.0.0.1', () => writeFileSync(join(directory, 'port'), String(server.address().port)));
setTimeout(() => process.exit(), LIFETIME_MS);
