import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { freePort } from '../../src/local/supervisor/links.ts';
import { stop } from '../apiserver/servers.ts';
import type { Cluster } from './cluster.ts';

export interface Nginx {
  url: string;
  /** The one that does the work. */
  pid: number;
  stop(): Promise<void>;
}

/** nginx that passes everything on, unchanged and unbuffered: http in front, https with keep-alive behind. */
export async function startNginx({ directory, server }: Cluster): Promise<Nginx> {
  const port = await freePort(0);
  const folder = join(directory, 'nginx');
  await mkdir(folder);
  const configuration = join(folder, 'nginx.conf');
  await writeFile(
    configuration,
    configurationOf(folder, port, server.url, join(directory, 'data', 'pki', 'ca.crt')),
  );
  const child = spawn(program(), ['-c', configuration, '-p', folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await answers(url))) {
    if (child.exitCode !== null) throw new Error(`nginx ended with code ${child.exitCode}`);
    await sleep(20);
  }
  return { url, pid: child.pid ?? 0, stop: () => stop(child) };
}

function program(): string {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  const found = folders.map((folder) => join(folder, 'nginx')).find(existsSync);
  if (found === undefined)
    throw new Error('the reference is nginx, which is missing: apt-get install nginx-light');
  return found;
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await request(url)).body.dump();
    return true;
  } catch {
    return false;
  }
}

function configurationOf(folder: string, port: number, upstream: string, ca: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
  ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n  ')}
  upstream api { server ${new URL(upstream).host}; keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass https://api;
      proxy_ssl_trusted_certificate ${ca};
      proxy_ssl_verify on;
      proxy_ssl_name kubernetes;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`;
}
