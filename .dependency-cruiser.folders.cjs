/**
 * Folders that import each other, directly or through others. A folder and its own subfolders count as one, so an index
 * may wire the parts below it. Tests are left out: they use parts of many folders. That takes a run of its own, because
 * rules with the scope `folder` cannot leave out files.
 */
const { options } = require('./.dependency-cruiser.cjs');

module.exports = {
  forbidden: [
    {
      name: 'no-cycles-of-folders',
      comment: 'Move what both folders need into one of them, or into their parent.',
      scope: 'folder',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
  ],
  options: {
    ...options,
    exclude: { path: [options.exclude.path, '\\.test\\.ts$', '/testing/', '/testing\\.ts$'] },
  },
};
