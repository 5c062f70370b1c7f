import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../../../../../test/support/process.ts';
import { findNginx } from '../find-nginx.ts';
import { luaDirectory } from '../lua-files.ts';
import { type LuaOptions, luaSettings } from '../lua-settings.ts';

const OPTIONS: LuaOptions = {
  connectTimeoutMs: 1000,
  readTimeoutMs: 1000,
  maxBodyBytes: 0,
  bodySizes: [],
  accessLog: false,
  mark: 'tidegate-0',
  proxyProtocol: false,
  initialTable: undefined,
  relayDirectory: '/run/relays',
};

/**
 * Runs Lua in a real nginx that exits before it listens. The script is a function body that may use `input`; the result is
 * what it returns.
 */
export async function runLua(script: string, input: unknown = {}): Promise<unknown> {
  const found = await findNginx();
  if ('missing' in found) throw new Error(found.missing);
  const directory = mkdtempSync(join(tmpdir(), 'tidegate-lua-'));
  const file = (name: string): string => join(directory, name);
  try {
    writeFileSync(file('input.json'), JSON.stringify(input));
    writeFileSync(file('script.lua'), script);
    writeFileSync(file('nginx.conf'), config(found.nginx.modules, directory));
    await run([found.nginx.path, '-c', file('nginx.conf')]);
    return JSON.parse(readFileSync(file('output.json'), 'utf8'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const config = (modules: readonly string[], directory: string): string => `
${modules.map((module) => `load_module ${module};`).join('\n')}
pid ${directory}/pid;
error_log stderr warn;
daemon off;
events {}
http {
  access_log off;
  lua_package_path "${luaDirectory()}/?.lua;;";
  ${['hosts', 'upstreams', 'certificates', 'credentials', 'auth', 'limits', 'metrics', 'state'].map((name) => `lua_shared_dict tidegate_${name} 4m;`).join(' ')}
  init_by_lua_block {
${luaSettings(OPTIONS)}
    local cjson = require "cjson"
    local function file(name, mode) return assert(io.open("${directory}/" .. name, mode)) end
    local input = cjson.decode(file("input.json"):read("*a"))
    local script = setfenv(assert(loadfile("${directory}/script.lua")), setmetatable({ input = input }, { __index = _G }))
    local output = file("output.json", "w")
    output:write(cjson.encode(script()))
    output:close()
    os.exit(0)
  }
}
`;
