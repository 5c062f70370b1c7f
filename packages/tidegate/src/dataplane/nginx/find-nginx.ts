import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { diskFailure, isDiskErrno } from '@tidegate/disk';

/** An nginx that has all required modules. */
export interface NginxBinary {
  path: string;
  /** The modules to load, in this order. */
  modules: readonly string[];
  /** Whether HTTP/2 is a directive of its own: since 1.25.1. */
  hasHttp2Directive: boolean;
}

/** `missing` is a sentence with the reason and what to do; `reason` is the reason alone. */
export type NginxSearch = { readonly nginx: NginxBinary } | Missing;

interface Missing {
  readonly missing: string;
  readonly reason: string;
}

const PLACES = ['/usr/sbin/nginx', '/usr/bin/nginx'];
const MODULES = ['ndk_http_module.so', 'ngx_http_lua_module.so'];
const PACKAGES = 'nginx-light, libnginx-mod-http-lua, lua-resty-core and lua-cjson';

/** An nginx that does not even print its version does not work. */
const TIMEOUT_MS = 30_000;

/** Looks for the files of Debian's packages and runs a test. If a part is missing, the result says what to install. */
export async function findNginx(places: readonly string[] = PLACES): Promise<NginxSearch> {
  const path = places.find((place) => existsSync(place));
  if (path === undefined) return missing('nginx is not installed');
  let stderr: string;
  try {
    ({ stderr } = await promisify(execFile)(path, ['-V'], { timeout: TIMEOUT_MS }));
  } catch (error) {
    // For example, the file is not executable, or is a program for another processor.
    return missing(`${path} cannot be run (${(error as Error).message.split('\n')[0]})`);
  }
  const folder = /--modules-path=(\S+)/.exec(stderr)?.[1] ?? '/usr/lib/nginx/modules';
  const nginx = {
    path,
    modules: MODULES.map((name) => join(folder, name)),
    hasHttp2Directive: isAtLeast(/nginx version: \S+?\/([\d.]+)/.exec(stderr)?.[1] ?? '', [1, 25, 1]),
  };
  if (!nginx.modules.every((module) => existsSync(module))) return missing('nginx has no Lua module');
  const wrong = await tryLua(nginx);
  return wrong ?? { nginx };
}

/** Compares version numbers part by part. */
export function isAtLeast(version: string, wanted: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, part] of wanted.entries()) {
    const found = parts[index] ?? 0;
    if (found !== part) return found > part;
  }
  return true;
}

const missing = (reason: string): Missing => ({
  reason,
  missing: `${reason}: install the packages ${PACKAGES}, or use the embedded data plane`,
});

/** Packages do not help if nginx has no place for its files. */
function withoutPlace(cause: unknown): Missing {
  const reason = `nginx cannot be run: ${placeProblem(cause)}`;
  return { reason, missing: `${reason}, or use the embedded data plane` };
}

const placeProblem = (cause: unknown): string =>
  isDiskErrno(cause)
    ? diskFailure(tmpdir(), cause).message
    : `its files cannot be written to ${tmpdir()} (${(cause as Error).message}); set TMPDIR to a directory that can be written`;

/** Resolves with what is wrong, or undefined if all parts work together. */
async function tryLua({ path, modules }: NginxBinary): Promise<Missing | undefined> {
  let directory: string;
  try {
    directory = mkdtempSync(join(tmpdir(), 'tidegate-nginx-'));
  } catch (error) {
    return withoutPlace(error);
  }
  const config = join(directory, 'nginx.conf');
  try {
    writeFileSync(
      config,
      `${modules.map((module) => `load_module ${module};`).join('\n')}
pid "${directory}/pid";
error_log stderr;
daemon off;
events {}
http {
  access_log off;
  init_by_lua_block { require "cjson" require "ngx.balancer" require "ngx.ssl" os.exit(0) }
}
`,
    );
    await promisify(execFile)(path, ['-c', config], { timeout: TIMEOUT_MS });
    return undefined;
  } catch (error) {
    if (isDiskErrno(error)) return withoutPlace(error);
    const lines = (error as Error).message.split('\n');
    return missing(`nginx cannot run Lua (${lines.find((line) => line.includes('[e')) ?? String(error)})`);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
