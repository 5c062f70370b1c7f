// Stops with one sentence on a version of Node.js that is too old, instead of a SyntaxError from the middle of the
// program. Loaded before anything else, so it must parse and run on old versions.
const required = [20, 19];
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < required[0] || (major === required[0] && minor < required[1])) {
  console.error(
    'tidegate: Node.js ' +
      required.join('.') +
      ' or newer is required, but this is Node.js ' +
      process.versions.node +
      ' (' +
      process.execPath +
      '); install a newer version',
  );
  process.exit(1);
}
