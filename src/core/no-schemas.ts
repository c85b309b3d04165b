/** For fastify: no route of ours has a schema, so what compiles them (113 modules, 50 ms at each start) is not loaded. */
export const NO_SCHEMAS = { compilersFactory: { buildValidator: refuse, buildSerializer: refuse } };

function refuse(): never {
  throw new Error('a route has a schema, for which nothing is loaded: see src/core/no-schemas.ts');
}
