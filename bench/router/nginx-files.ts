import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Writes an nginx.conf into its own folder. Returns the arguments to start nginx with it. */
export async function nginxArguments(folder: string, workers: number, http: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const configuration = join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  await writeFile(
    configuration,
    `daemon off;
pid ${folder}/pid;
error_log stderr error;
worker_processes ${workers};
events { worker_connections 8192; }
http {
  access_log off;
  keepalive_timeout 75s;
  keepalive_requests 1000000;
  ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n  ')}
${http}
}
`,
  );
  return ['-c', configuration, '-p', folder];
}
