import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../packages/tidegate/src/supervisor/links.ts';
import { type Contender, program, startServer } from '../programs.ts';
import type { Cluster } from './cluster.ts';

/** nginx as a plain reverse proxy, unbuffered: HTTP in front, HTTPS with keep-alive behind. */
export async function startNginx({ directory, server }: Cluster): Promise<Contender> {
  const port = await freePort(0);
  const folder = join(directory, 'nginx');
  await mkdir(folder);
  const configuration = join(folder, 'nginx.conf');
  await writeFile(
    configuration,
    configurationOf(folder, port, server.url, join(directory, 'data', 'pki', 'ca.crt')),
  );
  const url = `http://127.0.0.1:${port}`;
  return startServer('nginx', program('nginx', 'nginx-light'), ['-c', configuration, '-p', folder], url);
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
