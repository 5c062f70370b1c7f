import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with the Lua files: beside this file in the source, and in dist/nginx/lua next to a bundle. */
export function luaDirectory(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  for (let at = here; ; at = dirname(at)) {
    const found = [join(at, 'lua'), join(at, 'nginx/lua')].find((place) =>
      existsSync(join(place, 'tidegate/serve.lua')),
    );
    if (found !== undefined) return found;
    if (dirname(at) === at) throw new Error('the Lua files for nginx are missing: reinstall tidegate');
  }
}
