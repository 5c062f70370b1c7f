-- Checks passwords of basic authentication. Must agree with packages/tidegate/src/ingress/passwords; tests compare the two. The
-- functions of nginx and of the C library compute the hashes. Their formats were checked when the Secret was read.
local ffi = require "ffi"
local settings = require "tidegate.settings"

ffi.cdef [[
  typedef struct { void *conf_ctx; void *pool; void *log; } tidegate_cycle_t;
  extern tidegate_cycle_t *ngx_cycle;
  void *ngx_create_pool(size_t size, void *log);
  void ngx_destroy_pool(void *pool);
  intptr_t ngx_crypt(void *pool, const char *key, const char *salt, char **encrypted);
]]

local C = ffi.C
local match, find, lower, sub = string.match, string.find, string.lower, string.sub
local now, sha1 = ngx.now, ngx.sha1_bin
local POOL_BYTES = 4096

local passwords = {}

-- Returns the name and the password of the header Authorization, or nil. Control characters are refused: the C library reads a
-- password only up to the first NUL. So is what is not UTF-8, which the other data plane cannot hash.
function passwords.sent(header)
  local scheme, encoded = match(header or "", "^(%a+) +([A-Za-z0-9+/]+=?=?)$")
  if scheme == nil or lower(scheme) ~= "basic" or #encoded > settings.max_credentials_bytes or #encoded % 4 ~= 0 then
    return nil
  end
  local text = ngx.decode_base64(encoded)
  local colon = text and find(text, ":", 1, true)
  if not colon or colon == 1 or find(text, "[%z\1-\31\127]") or not ngx.re.find(text, [[\A]], "jou") then
    return nil
  end
  return sub(text, 1, colon - 1), sub(text, colon + 1)
end

local function is_right(password, hash)
  local pool = C.ngx_create_pool(POOL_BYTES, C.ngx_cycle.log)
  if pool == nil then
    return false
  end
  local encrypted = ffi.new "char *[1]"
  local done = C.ngx_crypt(pool, password, hash, encrypted) == 0 and encrypted[0] ~= nil
  local result = done and ffi.string(encrypted[0])
  C.ngx_destroy_pool(pool)
  return result == hash
end

-- CPU time that may be used. It comes back with time.
local function new_budget(share, most)
  return { share = share, most = most, left = most, seen = now() }
end

-- Which part of the time that can be saved up is left.
local function left_of(budget, time)
  budget.left = math.min(budget.most, budget.left + (time - budget.seen) * budget.share)
  budget.seen = time
  return budget.left / budget.most
end

-- Right passwords are remembered, because hashes are slow on purpose. Others get a share of the CPU time of the worker. Each
-- tenant has a share and a memory of its own, so that none uses up those of others.
local MAX_TENANTS = 10000
local all = new_budget(settings.password_cpu_share, settings.max_password_cpu_seconds)
local tenants, tenant_count = {}, 0

local function tenant_of(owner)
  local tenant = tenants[owner]
  if tenant == nil then
    if tenant_count >= MAX_TENANTS then
      tenants, tenant_count = {}, 0
    end
    tenant = {
      budget = new_budget(settings.tenant_password_cpu_share, settings.max_tenant_password_cpu_seconds),
      remembered = {},
      count = 0,
    }
    tenants[owner] = tenant
    tenant_count = tenant_count + 1
  end
  return tenant
end

local function may_check(own)
  local time = now()
  local left = left_of(own, time)
  return left > 0 and (left_of(all, time) > 0 or left >= settings.saved_password_cpu_part)
end

-- Returns "right", "wrong" or "busy". With `is_decoy`, the client is not a user. It must not notice that, so the hash of another
-- user is computed in vain.
function passwords.check(owner, password, hash, is_decoy)
  local tenant = tenant_of(owner)
  local key = sha1(hash .. "\0" .. password)
  if not is_decoy and tenant.remembered[key] then
    return "right"
  end
  if not may_check(tenant.budget) then
    return "busy"
  end
  local began = os.clock()
  local right = is_right(password, hash)
  local used = os.clock() - began
  tenant.budget.left = tenant.budget.left - used
  all.left = all.left - used
  if not right or is_decoy then
    return "wrong"
  end
  if tenant.count >= settings.max_remembered_passwords then
    tenant.remembered, tenant.count = {}, 0
  end
  tenant.remembered[key] = true
  tenant.count = tenant.count + 1
  return "right"
end

-- The hash of some user, for a client that is not a user. Always the same for the same name.
function passwords.decoy(name, hashes)
  local a, b, c, d = string.byte(sha1(name), 1, 4)
  return hashes[(((a * 256 + b) * 256 + c) * 256 + d) % #hashes + 1]
end

return passwords
