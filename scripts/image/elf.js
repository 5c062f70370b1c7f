// Reads from an ELF file which shared libraries the dynamic linker loads for it. Only 64-bit little-endian files, which all
// architectures of the image have.
const TYPE = { load: 1, dynamic: 2, interpreter: 3 };
const TAG = { end: 0n, needed: 1n, strings: 5n };

/** The interpreter and the names of libraries; undefined for a file that is not an ELF file. */
export function readElf(file) {
  if (file.length < 64 || file.readUInt32BE(0) !== 0x7f454c46) return undefined;
  if (file[4] !== 2 || file[5] !== 1) throw new Error('not a 64-bit little-endian ELF file');
  const headers = programHeaders(file);
  const interpreter = headers.find(({ type }) => type === TYPE.interpreter);
  return {
    interpreter: interpreter && textAt(file, interpreter.offset),
    needed: neededBy(file, headers),
  };
}

function programHeaders(file) {
  const table = Number(file.readBigUInt64LE(32));
  const size = file.readUInt16LE(54);
  return Array.from({ length: file.readUInt16LE(56) }, (_, i) => {
    const at = table + i * size;
    return {
      type: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: Number(file.readBigUInt64LE(at + 16)),
      size: Number(file.readBigUInt64LE(at + 32)),
    };
  });
}

function neededBy(file, headers) {
  const dynamic = headers.find(({ type }) => type === TYPE.dynamic);
  if (dynamic === undefined) return [];
  const names = [];
  let strings = 0;
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) {
    const tag = file.readBigUInt64LE(at);
    const value = Number(file.readBigUInt64LE(at + 8));
    if (tag === TAG.end) break;
    if (tag === TAG.needed) names.push(value);
    if (tag === TAG.strings) strings = offsetOf(value, headers);
  }
  return names.map((offset) => textAt(file, strings + offset));
}

/** Where an address of the running program is in the file. */
function offsetOf(address, headers) {
  const segment = headers.find(
    (each) => each.type === TYPE.load && address >= each.address && address < each.address + each.size,
  );
  if (segment === undefined) throw new Error(`no segment contains the address ${address}`);
  return address - segment.address + segment.offset;
}

const textAt = (file, offset) => file.toString('utf8', offset, file.indexOf(0, offset));
