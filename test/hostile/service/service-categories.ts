/** Everything that is sent at the service. */
import type { Category } from '../input.ts';
import { GUESSING, TOKEN_ENDPOINT, TOKENS } from './access.ts';
import { BODIES, EXPRESSIONS } from './bodies.ts';
import { ABANDONED, SLOW } from './load.ts';
import { EDGES, FORMS, INJECTION } from './parameters.ts';
import { SCOPE } from './scope.ts';
import type { ServiceFace } from './service-face.ts';
import { PATHS, WIRE } from './wire.ts';

/** To a service of the made-up fleet. */
export const SERVICE_CATEGORIES: readonly Category<ServiceFace>[] = [
  TOKENS,
  TOKEN_ENDPOINT,
  SCOPE,
  INJECTION,
  EDGES,
  FORMS,
  PATHS,
  WIRE,
  BODIES,
  EXPRESSIONS,
  GUESSING,
  ABANDONED,
  SLOW,
];
