import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The Lua that is shipped: beside this file in src/, and in dist/nginx/lua below a bundle. */
export function luaDirectory(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  for (let at = here; ; at = dirname(at)) {
    const found = [join(at, 'lua'), join(at, 'nginx/lua')].find((place) =>
      existsSync(join(place, 'tidegate/serve.lua')),
    );
    if (found !== undefined) return found;
    if (dirname(at) === at) throw new Error('the Lua files of nginx are missing: the installation is broken');
  }
}
