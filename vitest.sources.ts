/** Resolves the workspace packages to their TypeScript sources, so that no test depends on a build of them. */
const conditions = ['tidegate-source', 'node', 'import', 'module', 'default'];

export const sources = { resolve: { conditions }, ssr: { resolve: { conditions } } };
