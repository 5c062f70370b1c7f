-- Verifies the certificates of clients with OpenSSL. nginx verifies them only with authorities from its configuration, and
-- only once for a connection; authorities of tenants are data, and can change while a connection is open.
local ffi = require "ffi"
local base = require "resty.core.base"
local ssl = require "ngx.ssl"

local C = ffi.C
local get_request = base.get_request

pcall(ffi.cdef, "void *ngx_http_lua_ffi_get_req_ssl_pointer(void *r, const char **err);")
ffi.cdef [[
void *SSL_get1_peer_certificate(const void *ssl);
void *SSL_get_peer_certificate(const void *ssl);
void *SSL_get_peer_cert_chain(const void *ssl);
void *SSL_get_session(const void *ssl);
int SSL_set_cipher_list(void *ssl, const char *str);
uint64_t SSL_set_options(void *ssl, uint64_t options);
uint64_t SSL_clear_options(void *ssl, uint64_t options);
long SSL_get_verify_result(const void *ssl);
int SSL_set_num_tickets(void *ssl, size_t num_tickets);
int SSL_SESSION_set1_id_context(void *session, const unsigned char *context, unsigned int length);
void *BIO_new_mem_buf(const void *buf, int len);
int BIO_free(void *bio);
void *PEM_read_bio_X509(void *bio, void **x, void *cb, void *u);
void *PEM_read_bio_X509_CRL(void *bio, void **x, void *cb, void *u);
void X509_free(void *x);
void X509_CRL_free(void *crl);
void *X509_STORE_new(void);
void X509_STORE_free(void *store);
int X509_STORE_add_cert(void *store, void *x);
int X509_STORE_add_crl(void *store, void *crl);
int X509_STORE_set_flags(void *store, unsigned long flags);
void *X509_STORE_CTX_new(void);
void X509_STORE_CTX_free(void *ctx);
int X509_STORE_CTX_init(void *ctx, void *store, void *x, void *chain);
int X509_STORE_CTX_set_default(void *ctx, const char *name);
void X509_STORE_CTX_set_depth(void *ctx, int depth);
int X509_STORE_CTX_get_error(const void *ctx);
int X509_verify_cert(void *ctx);
const char *X509_verify_cert_error_string(long n);
void ERR_clear_error(void);
]]

local x509 = {}

-- Lists of revoked certificates are needed for each certificate of a chain, as nginx requires it.
local CRL_CHECK = 0x4 + 0x8
local UNSPECIFIED = 1

local function has(name)
  return (pcall(function()
    return C[name]
  end))
end

local get_peer = has "SSL_get1_peer_certificate" and C.SSL_get1_peer_certificate or C.SSL_get_peer_certificate
local why = ffi.new "const char *[1]"

-- The connection of the current request or handshake; nil if it is not known. Then there is no certificate, and nothing is
-- served that needs one.
local function connection()
  local found
  if ssl.get_req_ssl_pointer then
    found = ssl.get_req_ssl_pointer()
  elseif has "ngx_http_lua_ffi_get_req_ssl_pointer" then
    found = C.ngx_http_lua_ffi_get_req_ssl_pointer(get_request(), why)
  end
  return found ~= nil and found or nil
end

-- Calls `add` with each object in a list of texts in PEM.
local function each(texts, read, free, add)
  for _, text in ipairs(texts) do
    local bio = C.BIO_new_mem_buf(text, #text)
    local object = read(bio, nil, nil, nil)
    C.BIO_free(bio)
    local is_added = object ~= nil and add(object) == 1
    if object ~= nil then
      free(object)
    end
    if not is_added then
      return false
    end
  end
  return true
end

-- The authorities of the route model in the form that `verify` needs; nil if they cannot be read.
function x509.prepare(authorities)
  local store = ffi.gc(C.X509_STORE_new(), C.X509_STORE_free)
  local is_read = each(authorities.certificates, C.PEM_read_bio_X509, C.X509_free, function(certificate)
    return C.X509_STORE_add_cert(store, certificate)
  end)
  is_read = is_read
    and each(authorities.revoked, C.PEM_read_bio_X509_CRL, C.X509_CRL_free, function(list)
      return C.X509_STORE_add_crl(store, list)
    end)
  if is_read and authorities.revoked[1] then
    C.X509_STORE_set_flags(store, CRL_CHECK)
  end
  C.ERR_clear_error()
  return is_read and store or nil
end

-- Verifies the certificate of the client of the current request. Returns nil if the client has shown none, or a code of
-- OpenSSL: 0 if it is valid. OpenSSL stops at the first error here, but has not stopped in the handshake: if the authority is
-- not known (`is_unknown`), the certificate may have another error too, for example that it has expired.
function x509.verify(store, depth, is_unknown)
  local own = connection()
  local certificate = own and get_peer(own)
  if not certificate or certificate == nil then
    return nil
  end
  local ctx = C.X509_STORE_CTX_new()
  local code = UNSPECIFIED
  if C.X509_STORE_CTX_init(ctx, store, certificate, C.SSL_get_peer_cert_chain(own)) == 1 then
    C.X509_STORE_CTX_set_default(ctx, "ssl_client")
    C.X509_STORE_CTX_set_depth(ctx, depth)
    local is_valid = C.X509_verify_cert(ctx) == 1
    code = C.X509_STORE_CTX_get_error(ctx)
    if not is_valid and code == 0 then
      code = UNSPECIFIED
    end
  end
  C.X509_STORE_CTX_free(ctx)
  local last = is_unknown[code] and tonumber(C.SSL_get_verify_result(own)) or 0
  C.X509_free(certificate)
  -- nginx would take what is left for an error of the next connection.
  C.ERR_clear_error()
  return last ~= 0 and last or code
end

function x509.text(code)
  return ffi.string(C.X509_verify_cert_error_string(code))
end

local SERVER_PREFERENCE = 0x00400000

-- Sets the ciphers of TLS 1.2 for the current handshake. The list was checked when it was read.
function x509.set_ciphers(ciphers, order)
  local own = connection()
  if not own then
    return
  end
  if ciphers and C.SSL_set_cipher_list(own, ciphers) ~= 1 then
    C.ERR_clear_error()
    ngx.log(ngx.ERR, "cannot use the ciphers of the host: ", ciphers)
  end
  if order == "server" then
    C.SSL_set_options(own, SERVER_PREFERENCE)
  elseif order == "client" then
    C.SSL_clear_options(own, SERVER_PREFERENCE)
  end
end

-- The session of the current handshake cannot be continued: a continued session has no chain, and is not asked for a
-- certificate again, also if it is for another host. No connection has the context that the session gets.
function x509.forbid_resumption()
  local own = connection()
  if not own then
    return
  end
  C.SSL_set_num_tickets(own, 0)
  local session = C.SSL_get_session(own)
  if session ~= nil then
    C.SSL_SESSION_set1_id_context(session, "tidegate: once", 14)
  end
end

return x509
