/** Each folder of src/ imports only from those above it in this list, as the architecture section of the README says. */
const LAYERS = [
  'api',
  'disk',
  'kube',
  'scope',
  'pools',
  'apps',
  'ingress',
  'dataplane',
  'router',
  'yurtingress',
  'admission',
  'approval',
  'manager',
  'hub',
  'local',
  'console',
  'cli',
];

const layerRules = LAYERS.map((layer, index) => ({
  name: `${layer}-imports-only-what-is-above`,
  comment: `src/${layer} may import itself and ${LAYERS.slice(0, index).join(', ') || 'nothing else'}`,
  severity: 'error',
  from: { path: `^src/${layer}/` },
  to: { path: `^src/(${LAYERS.slice(index + 1).join('|') || 'nothing-below'})/` },
}));

module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'apiserver-stands-alone',
      comment:
        'The embedded API server knows nothing of Tidegate but the Kubernetes kit and files that survive a crash.',
      severity: 'error',
      from: { path: '^src/local/apiserver/' },
      to: { path: '^src/', pathNot: '^src/(local/apiserver|kube|disk)/' },
    },
    {
      name: 'nothing-imports-tests',
      severity: 'error',
      from: { pathNot: '(\\.test\\.ts$|^test/|/testing/)' },
      to: { path: '(\\.test\\.ts$|^test/|/testing/)' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js'] },
  },
};
