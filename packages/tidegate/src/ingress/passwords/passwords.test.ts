import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { credentialsOf, decoyFor, PasswordChecker, readUsers, verifyPassword } from './index.ts';

const PASSWORD = 'opensesame é';

/** Made with openssl, bcrypt and the SHA-1 of Node.js. */
const HASHES = [
  '$apr1$abcdefgh$0hnAgUq2oGudh/DryZo761',
  '$1$abc$BDXlJKUsJwyAIM4VPNdSa.',
  '$5$saltsalt$G1cixZLji0GZcXclPe1sCxnuvL74hc53X4HolXDPIN9',
  '$6$saltsalt$yn/SgAfajbqbIngWhtrD0Bvou7xq3xfp5HQDjmRL2KaRr707rKgApPS1ev0eHVZb9YHWzC5yNCsBN2qbwv3Id1',
  '$2b$04$UsYVBqXnNJgmtc2/iCG0EeIyuwTpX/.1mzszzSa7dVaU2ODFQuo5S',
  '{SHA}dIdTy8nGNNtl+hZJ2NYzvOB7CZ8=',
  '{SSHA}3WzAF0X9OMH1gASFFXIbRND0qe5zYWx0c2FsdA==',
];

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a hash', () => {
  it.each(HASHES)('%s is verified', async (hash) => {
    expect(await verifyPassword(PASSWORD, hash)).toBe(true);
    for (const wrong of ['', 'opensesame', `${PASSWORD} `, PASSWORD.toUpperCase()])
      expect(await verifyPassword(wrong, hash)).toBe(false);
  });

  it.each([
    ['$apr1$abcdefgh$82JubPF2dQkt1tVfvLnXS.'],
    ['$1$abc$OGyl6dDvZCDiGmIVbeuCq/'],
    ['$2b$05$QPCaoPJbxNF1BC8fvCQb0esgUN7L8AzztHtjWQxNwUYSZFJM1PSQG'],
  ])('%s of a short password is verified', async (hash) => {
    expect(await verifyPassword('x', hash)).toBe(true);
    expect(await verifyPassword('y', hash)).toBe(false);
  });

  it.each([
    '',
    'opensesame',
    '{PLAIN}opensesame',
    'rqXexS6ZhobKA',
    '$2y$13$UsYVBqXnNJgmtc2/iCG0EeIyuwTpX/.1mzszzSa7dVaU2ODFQuo5S',
    '$6$rounds=999999$saltsalt$yn/SgAfajbqbIngWhtrD0Bvou7xq3xfp5HQDjmRL2KaRr707rKgApPS1ev0eHVZb9YHWzC5yNCsBN2qbwv3Id1',
    '*0',
  ])('%j is not accepted', async (hash) => {
    expect(await verifyPassword(hash, hash)).toBe(false);
    expect(() => readUsers({ auth: base64(`ann:${hash}`) }, 'file')).toThrow(/no user that can authenticate/);
  });
});

describe('users of a Secret', () => {
  const [hash = '', other = ''] = HASHES;

  it('are the lines of a file', () => {
    const text = `# users\n\nann:${hash}\r\nbob:${other}:Bob\nann:${other}\neve:secret\n:${hash}\n`;
    expect(readUsers({ auth: base64(text) }, 'file')).toEqual({
      users: { ann: hash, bob: other },
      wrong: ['line 6 has no hash of a supported kind', 'line 7 has no valid user name'],
    });
  });

  it('are the keys of a map', () => {
    expect(readUsers({ ann: base64(hash), auth: base64(`${other}\n`) }, 'map')).toEqual({
      users: { ann: hash, auth: other },
      wrong: [],
    });
  });

  it('do not include names of prototypes', () => {
    const { users } = readUsers({ auth: base64(`ann:${hash}\n__proto__:${hash}`) }, 'file');
    expect(Object.keys(users)).toEqual(['ann', '__proto__']);
  });

  it('are missing if the Secret has no key auth', () => {
    expect(() => readUsers({ users: base64(`ann:${hash}`) }, 'file')).toThrow('it has no key auth');
  });
});

describe('the header Authorization', () => {
  it.each([
    [`Basic ${base64('ann:a:b')}`, { name: 'ann', password: 'a:b' }],
    [`basic  ${base64('ann:')}`, { name: 'ann', password: '' }],
    [undefined, undefined],
    ['', undefined],
    [`Bearer ${base64('ann:a')}`, undefined],
    [`Basic ${base64('ann')}`, undefined],
    [`Basic ${base64(':a')}`, undefined],
    [`Basic ${base64('ann:a\0b')}`, undefined],
    ['Basic !', undefined],
    [`Basic ${base64(`ann:${'a'.repeat(2000)}`)}`, undefined],
    [`Basic ${base64('ann:pw')}=`, undefined],
    [`Basic ${Buffer.from('ann:caf\xe9', 'latin1').toString('base64')}`, undefined],
    [`Basic ${Buffer.from('ann:caf\xff', 'latin1').toString('base64')}`, undefined],
  ])('%j has %j', (header, expected) => {
    expect(credentialsOf(header)).toEqual(expected);
  });
});

describe('a checker', () => {
  const [hash = '', , , , bcrypt = '', sha1 = ''] = HASHES;
  const SLOW = `$6$rounds=99999$saltsalt$${'a'.repeat(86)}`;
  const guess = { password: 'guess', hash: SLOW, isDecoy: false };
  const right = { password: PASSWORD, hash, isDecoy: false };

  /** Guesses are wrong, which needs no proof here. */
  const newChecker = (monotonicMs = () => 0): PasswordChecker =>
    new PasswordChecker(
      monotonicMs,
      async (password, each) => each !== SLOW && verifyPassword(password, each),
    );

  /** Guesses until the time is used up. Returns how many guesses were checked. */
  async function guessAll(checker: PasswordChecker, owner: string): Promise<number> {
    for (let count = 0; ; count++) if ((await checker.check(owner, guess)) === 'busy') return count;
  }

  it('remembers right passwords, and limits the time for others', async () => {
    let time = 0;
    const checker = newChecker(() => time);
    expect(await checker.check('a', right)).toBe('right');
    expect(await guessAll(checker, 'a')).toBeLessThan(10);
    expect(await checker.check('a', right)).toBe('right');
    expect(await checker.check('a', { ...right, hash: sha1 })).toBe('busy');
    time += 20_000;
    expect(await checker.check('a', guess)).toBe('wrong');
  });

  it('lets no tenant use up the time of another', async () => {
    const checker = newChecker();
    // Together they use up the time of all.
    for (const owner of ['evil1', 'evil2', 'evil3', 'evil4']) await guessAll(checker, owner);
    expect(await checker.check('good', { ...right, hash: bcrypt })).toBe('right');
    expect(await checker.check('evil1', { ...right, hash: bcrypt })).toBe('busy');
  });

  it('lets no tenant replace what is remembered of another', async () => {
    const checker = newChecker();
    expect(await checker.check('good', { ...right, hash: bcrypt })).toBe('right');
    await guessAll(checker, 'good');
    const hashOf = (password: string): string =>
      `{SHA}${createHash('sha1').update(password).digest('base64')}`;
    for (let at = 0; at < 10_500; at++)
      await checker.check('evil', { password: `${at}`, hash: hashOf(`${at}`), isDecoy: false });
    expect(await checker.check('good', { ...right, hash: bcrypt })).toBe('right');
  });

  it('charges a decoy like a password, never accepts it, and never remembers it', async () => {
    const checker = newChecker();
    const decoy = { ...right, isDecoy: true };
    expect(await checker.check('a', decoy)).toBe('wrong');
    expect(await checker.check('a', right)).toBe('right');
    await guessAll(checker, 'a');
    expect(await checker.check('a', decoy)).toBe('busy');
  });

  it('lets other work run during an expensive check', async () => {
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await new PasswordChecker(() => 0).check('a', guess);
    isDone = true;
    expect(turns).toBeGreaterThan(100);
  });

  it('computes the same hash for the same unknown name', () => {
    const users = { ann: 'x', bob: 'y', eve: 'z' };
    const decoys = Array.from({ length: 50 }, (_, at) => decoyFor(`name${at}`, users));
    expect(new Set(decoys)).toEqual(new Set(['x', 'y', 'z']));
    expect(decoys).toEqual(Array.from({ length: 50 }, (_, at) => decoyFor(`name${at}`, { ...users })));
  });
});
