import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { parse } from 'yaml';
import { startEmbedded } from './embedded.ts';

export interface Answer {
  code: number;
  text: string;
}

/** An embedded API server, and requests to it as they are written: a client library would refuse to send some of them. */
export interface HostileServer {
  send(method: string, path: string, body?: string, type?: string): Promise<Answer>;
  stop(): Promise<void>;
}

export async function startHostileServer(): Promise<HostileServer> {
  const server = await startEmbedded();
  const { clusters, users } = parse(readFileSync(server.kubeconfig, 'utf8')) as {
    clusters: [{ cluster: Record<string, string> }];
    users: [{ user: Record<string, string> }];
  };
  const pem = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64');
  const agent = new Agent({
    keepAlive: true,
    ca: pem(clusters[0].cluster['certificate-authority-data']),
    cert: pem(users[0].user['client-certificate-data']),
    key: pem(users[0].user['client-key-data']),
  });
  const port = Number(new URL(server.url).port);
  return {
    send: (method, path, body, type = 'application/json') =>
      new Promise((resolve, reject) => {
        const headers =
          body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) };
        const sent = request({ host: '127.0.0.1', port, agent, method, path, headers }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () =>
            resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
          );
          response.on('error', reject);
        });
        sent.on('error', reject);
        sent.end(body);
      }),
    async stop() {
      agent.destroy();
      await server.stop();
    },
  };
}
