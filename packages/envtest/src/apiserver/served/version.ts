/** The Kubernetes version of the served API. Clients adapt their behavior to it. */
export const KUBERNETES_VERSION = { major: '1', minor: '36', patch: '4' } as const;

export const versionInfo = (tidegate: string): Record<string, string> => {
  const { major, minor, patch } = KUBERNETES_VERSION;
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: `v${major}.${minor}.${patch}+tidegate-${tidegate}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '',
    goVersion: process.version,
    compiler: 'node',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
};
