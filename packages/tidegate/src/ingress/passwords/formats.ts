/**
 * The formats of hashes that both data planes verify, for example by `htpasswd -B` (bcrypt), `htpasswd -m` (apr1),
 * `htpasswd -s` (SHA-1) or `openssl passwd -6` (SHA-512). A single check must not stop a router, so expensive hashes are refused.
 */
const FORMATS = [
  /^\$(?:apr1|1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}$/,
  /^\$2[aby]\$(?:0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}$/,
  /^\$5\$(?:rounds=[1-9][0-9]{3,4}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{43}$/,
  /^\$6\$(?:rounds=[1-9][0-9]{3,4}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{86}$/,
  /^\{SHA\}[+/A-Za-z0-9]{27}=$/,
  /^\{SSHA\}[+/A-Za-z0-9]{28,120}={0,2}$/,
];

export const isKnownHash = (hash: string): boolean => FORMATS.some((format) => format.test(hash));

export const EXPECTED_HASHES =
  'bcrypt with a cost of at most 12, apr1, SHA-256 or SHA-512 crypt with less than 100000 rounds, {SHA} or {SSHA}; for example the output of htpasswd -B';
