/** The packages, each importing only those above it, and only through their entry points. */
const PACKAGES = ['disk', 'kube', 'serving', 'console', 'envtest', 'tidegate'];

/** Each folder of packages/tidegate/src imports only from those above it in this list, as docs/architecture.md says. */
const LAYERS = [
  'api',
  'scope',
  'pools',
  'apps',
  'yurtapps',
  'ingress',
  'dataplane',
  'router',
  'yurtingress',
  'admission',
  'approval',
  'manager',
  'hub',
  'install',
  'check',
  'enroll',
  'sysdump',
  'migrate',
  'supervisor',
  'console',
  'cli',
];

const packageRules = PACKAGES.map((name, index) => ({
  name: `${name}-imports-only-packages-above`,
  comment: `packages/${name} may import ${PACKAGES.slice(0, index).join(', ') || 'no other package'}`,
  severity: 'error',
  // Examples are not part of the code of a package: their tests may use an API server of envtest.
  from: { path: `^packages/${name}/`, pathNot: `^packages/${name}/examples/` },
  to: { path: `^packages/(${PACKAGES.slice(index + 1).join('|') || 'nothing-below'})/` },
}));

const layerRules = LAYERS.map((layer, index) => ({
  name: `${layer}-imports-only-what-is-above`,
  comment: `src/${layer} may import itself and ${LAYERS.slice(0, index).join(', ') || 'nothing else'}`,
  severity: 'error',
  from: { path: `^packages/tidegate/src/${layer}/` },
  to: { path: `^packages/tidegate/src/(${LAYERS.slice(index + 1).join('|') || 'nothing-below'})/` },
}));

/** No relative import reaches into another package: that is what its entry points are for. */
const entryRules = PACKAGES.filter((name) => name !== 'tidegate').map((name) => ({
  name: `${name}-is-used-through-its-entry-points`,
  severity: 'error',
  from: { pathNot: `^packages/${name}/` },
  to: { path: `^packages/${name}/`, dependencyTypes: ['local'] },
}));

module.exports = {
  forbidden: [
    ...packageRules,
    ...layerRules,
    ...entryRules,
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'apiserver-stands-alone',
      comment: 'The embedded API server knows nothing of the controllers and nodes that work with it.',
      severity: 'error',
      from: { path: '^packages/envtest/src/apiserver/' },
      to: { path: '^packages/envtest/src/(controllers|node)/' },
    },
    {
      name: 'nothing-imports-tests',
      comment: 'The benchmark of Octavia uses the servers of its tests.',
      severity: 'error',
      from: { pathNot: '(\\.test\\.ts$|^test/|^bench/octavia/|/testing/|/testing\\.ts$)' },
      to: { path: '(\\.test\\.ts$|^test/|/testing/|/testing\\.ts$)' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js'],
      conditionNames: ['tidegate-source', 'node', 'import'],
    },
  },
};
