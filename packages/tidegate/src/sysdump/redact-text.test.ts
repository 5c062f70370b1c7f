import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { isCredentialName, REDACTED, redactFields, redactLog, redactText } from './redact-text.ts';

describe('a text', () => {
  it.each([
    ['Authorization: Bearer abcdefgh12345678', 'abcdefgh12345678'],
    ['Authorization: Digest username="anna", response="hunter22"', 'hunter22'],
    ['token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl used', 'eyJhbGci'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----', 'MIIEow'],
    ['-----BEGIN PRIVATE KEY-----\nMIIEow (cut)', 'MIIEow'],
    ['joined with abcdef.0123456789abcdef', '0123456789abcdef'],
    ['proxy http://anna:hunter22@proxy.example:3128', 'hunter22'],
    ['redis://hunter22@cache:6379', 'hunter22'],
    ['postgres://:hunter22@db/shop', 'hunter22'],
    ['postgres://anna:a@b/hunter22@db/shop', 'hunter22'],
    ['{"password":"hunter22"}', 'hunter22'],
    ['{"password":12345}', '12345'],
    ['{"token":["hunter22"]}', 'hunter22'],
    ['DB_PASSWORD=hunter22', 'hunter22'],
    ['Server=db;Uid=anna;Pwd=hunter22;', 'hunter22'],
    ['pin: 1\npassword: abc\n', 'abc'],
    ['password: "my long phrase"', 'long phrase'],
    ["application_credential_secret: 'it; is, long'", 'is, long'],
    ['password: my long phrase\nregion: x', 'long phrase'],
    ['OS_PASSWORD=half;other', 'other'],
    ['OS_PASSWORD=half&other', 'other'],
    ['OS_PASSWORD=half}other', 'other'],
    [`OS_PASSWORD=half"other'third`, 'third'],
    ['password: "half\\"other"', 'other'],
    ['{\\"adminPassword\\":\\"hunter22\\"}', 'hunter22'],
    ['private_key = c2VjcmV0', 'c2VjcmV0'],
    ['GET /cb?code=1&access_token=hunter22&x=y', 'hunter22'],
    ['tool --token hunter22 --verbose', 'hunter22'],
    ['tool --admin-password "hunter22"', 'hunter22'],
    ['["--token", "hunter22"]', 'hunter22'],
    ['password: |\n  hunter22\n  second\nregion: x', 'second'],
    ['password: >-\n\n  hunter22\nregion: x', 'hunter22'],
    ['tokens:\n- hunter22\nregion: x', 'hunter22'],
    ['  - password: hunter22\n    b: c\n  - d: 1', 'hunter22'],
    ['credentials:\n  user: anna\n  pin: hunter22\nregion: x', 'anna'],
    ['password: "first\nhunter22"\nregion: x', 'hunter22'],
    ['"password":\n"hunter22"', 'hunter22'],
    ['Set-Cookie: session=hunter22', 'hunter22'],
    ['["--password","hunter22"]', 'hunter22'],
    ['--token\nhunter22', 'hunter22'],
    ['anna:hunter22@tcp(db:3306)/shop', 'hunter22'],
    ['dial anna:hunter22@db:5432', 'hunter22'],
    ['ann:$2y$10$hunter22hunter22hunter22', 'hunter22'],
    ['ann:$apr1$ab$hunter22hunter22', 'hunter22'],
    ['ann:{SHA}hunter22hunter22hunter22abc=', 'hunter22'],
    ['{SSHA512}hunter22hunter22', 'hunter22'],
    ['tls.key: hunter22', 'hunter22'],
    ['key LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0thunter22 used', 'hunter22'],
    ['psk=hunter22', 'hunter22'],
    ['session=hunter22', 'hunter22'],
    ['JSESSIONID=hunter22', 'hunter22'],
    ['GET /oauth/callback?code=hunter22&state=x', 'hunter22'],
    ['GET /maps?key=hunter22', 'hunter22'],
    ['GET /reset?hunter22', 'hunter22'],
    ['GET /x?watch=1&t=hunter22 HTTP/1.1', 'hunter22'],
  ])('%j loses its secret', (text, secret) => {
    expect(redactText(text)).not.toContain(secret);
    expect(redactText(text)).toContain(REDACTED);
  });

  it.each([
    'L7Router shop: pods tidegate-router-shop-6f7d8-x2x4z are not ready',
    'Secret shop/tls not found',
    'the token of the node has expired',
    'spec.tls[0].secretName: Required value',
    'GET https://10.0.0.1:6443/api/v1/pods?watch=1&resourceVersion=7 503',
    'image registry.example/nginx:1.25@sha256:0123456789abcdef is pulled',
    'endpoint 10.0.0.1:8080 did not answer; is it up? no connection',
  ])('keeps what is not secret: %s', (text) => {
    expect(redactText(text)).toBe(text);
  });

  it('keeps the lines after a credential that are not a part of it', () => {
    expect(redactText('a: 1\npassword: |\n  x\n  y\nregion: paris\n')).toBe(
      `a: 1\npassword:${REDACTED}\nregion: paris\n`,
    );
  });

  it('costs a time that grows with its length only', () => {
    // Each of these took minutes: a tenant can write them into an object.
    const parts = [
      ' ',
      '-eyJ',
      'password ',
      '://a',
      '-----BEGIN PRIVATE KEY-----',
      'token="',
      '--',
      'Basic aaaaaaaa',
      'a:',
      'a:b@',
      '?a',
      '?a&',
      '$1$',
      '{SHA}',
      'LS0tLS1CRUdJTi',
    ];
    for (const part of [...parts, 'password: "\n', '\n', '-pass', "token\\\\\\'"])
      expect(redactText(part.repeat(100_000)).length).toBeGreaterThan(0);
  });
});

describe('a log', () => {
  it('keeps the other fields of a line of JSON', () => {
    const line = '{"level":"info","password":{"a":1},"tokens":[5],"msg":"token: x","path":"/x"}';
    expect(redactLog(`${line}\nplain\n`)).toBe(
      `{"level":"info","password":"${REDACTED}","tokens":"${REDACTED}","msg":"token:${REDACTED}","path":"/x"}\nplain\n`,
    );
  });

  it('loses queries of requests, lists of arguments and users', () => {
    const line = JSON.stringify({
      host: 'a.io',
      target: '/cb?code=s3cret&watch=1',
      argv: ['tool', '--admin-password', 's3cret', '--verbose', 'x'],
      passwordHash: 's3cret',
      users: { ann: 's3cret' },
    });
    expect(JSON.parse(redactLog(line))).toEqual({
      host: 'a.io',
      target: `/cb?code=${REDACTED}&watch=1`,
      argv: ['tool', '--admin-password', REDACTED, '--verbose', 'x'],
      passwordHash: REDACTED,
      users: REDACTED,
    });
  });

  it('is redacted as a text where a line was cut off', () => {
    expect(redactLog('{"level":"info","password":"hunter22')).not.toContain('hunter22');
  });
});

it.each([
  ...[
    'password',
    'adminPassword',
    'DB_PASSWORD',
    'api-key',
    'accessKey',
    'token',
    'credentials',
    'pwd',
    'clientSecret',
  ],
  ...['password1', 'tokenValue', 'pin', 'bearerTokens'],
])('%s is the name of a credential', (name) => {
  expect(isCredentialName(name)).toBe(true);
});

it.each(['secretName', 'tokenReview', 'spinning', 'key', 'hosts', 'authors', 'compass'])(
  '%s is not the name of a credential',
  (name) => {
    expect(isCredentialName(name)).toBe(false);
  },
);

/** Every part of the secret is unlike anything else in the text. Between them are the characters that end a value somewhere. */
const secrets = fc
  .array(fc.constantFrom('&', '}', '"', "'", ';', ',', ' ', '#', ']', ': ', '=', '\\', '@', '/', '\n', ''), {
    minLength: 1,
    maxLength: 4,
  })
  .map((between) => `s3cr0${between.map((sign) => `${sign}s3cr1`).join('')}`);
const names = fc.constantFrom(
  'password',
  'dbPassword',
  'DB_PWD',
  'api_key',
  'auth-token',
  'credentials',
  'client_secret',
);
/** The secret in one line, as a shell or a URL would have it. */
const oneLine = (secret: string): string => secret.replaceAll('\n', ' ');
const around = fc.constantFrom('', 'level=info ', '2026-01-01 failed: ', '  ', '\t', 'a=b&');

it('a secret leaves no document and no line with the name of a credential', () => {
  const value = (secret: string): fc.Arbitrary<unknown> =>
    fc.constantFrom<unknown>(
      secret,
      [secret, 1],
      { user: 'anna', value: secret },
      { deep: [{ deeper: secret }] },
    );
  fc.assert(
    fc.property(
      secrets.chain((secret) => fc.tuple(fc.constant(secret), value(secret))),
      names,
      around,
      fc.nat(3),
      ([secret, field], name, before, depth) => {
        const nested = (inner: unknown): unknown =>
          depth === 0 ? inner : { first: 1, list: [{ a: 'b', ...(inner as object) }], last: 'x' };
        const document = nested({ a: 1, [name]: field, z: 'kept' });
        const texts = [
          ...[stringify(document), stringify(document, { defaultStringType: 'QUOTE_DOUBLE' })],
          ...[
            stringify(document, { defaultStringType: 'BLOCK_LITERAL' }),
            stringify(document, { indentSeq: false }),
          ],
          ...[JSON.stringify(document), JSON.stringify(document, undefined, depth)],
          JSON.stringify({ msg: JSON.stringify(document) }),
          `${before}${name}=${oneLine(secret)}`,
          `${before}${name}: ${oneLine(secret)}`,
          `${before}--${name} ${oneLine(secret)}`,
          `${before}--${name}=${oneLine(secret)}`,
          `${before}https://anna:${encodeURIComponent(secret)}@host/`,
          `${before}https://host/?x=y&${name}=${encodeURIComponent(secret)}`,
          `${before}GET /cb?state=y&code=${encodeURIComponent(secret)} HTTP/1.1`,
          `${before}--${name}\n${oneLine(secret)}`,
          JSON.stringify(['tool', `--${name}`, oneLine(secret)]),
          JSON.stringify({ argv: ['tool', `--${name}`, secret] }),
        ];
        for (const text of texts) {
          expect(redactText(text)).not.toContain('s3cr');
          expect(redactLog(text)).not.toContain('s3cr');
        }
        expect(JSON.stringify(redactFields(document))).not.toContain('s3cr');
      },
    ),
    { numRuns: 300 },
  );
});
