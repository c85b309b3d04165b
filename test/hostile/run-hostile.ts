/** Sends hostile inputs at the faces, and says which of them held. */
import { newTempFolder } from '../helpers/temp.ts';
import { GARBLED, HTTP, PACKING } from './exporter/answers.ts';
import { openExporter } from './exporter/exporter-face.ts';
import { FILES, LAKES } from './exporter/lake.ts';
import { NAMES_CATEGORY, TOKEN_ANSWERS, VESSELS } from './exporter/tokens.ts';
import { STATISTICS, VALUES_CATEGORY } from './exporter/values.ts';
import type { Category, Renewed, Sent } from './input.ts';
import { chosen, renewed, sendAll } from './input.ts';
import { CONNECTIONS, READING } from './page/load.ts';
import { SIGNING_IN } from './page/logins.ts';
import { startPage, writePageLake } from './page/page-face.ts';
import { TOKEN_ENDPOINT, TOKENS } from './service/access.ts';
import { BODIES, EXPRESSIONS } from './service/bodies.ts';
import { ABANDONED, SLOW } from './service/load.ts';
import { EDGES, FORMS, INJECTION } from './service/parameters.ts';
import { SCOPE } from './service/scope.ts';
import { startServiceProcess } from './service/service-face.ts';
import { PATHS, WIRE } from './service/wire.ts';

const OF_FLEET = [TOKENS, TOKEN_ENDPOINT, SCOPE, INJECTION, EDGES, FORMS, PATHS, WIRE, BODIES].concat(
  EXPRESSIONS,
  ABANDONED,
  SLOW,
);
/** What a service of a lake is asked besides: its queries are SQL, and its files lie on a disk. */
const OF_LAKE = [INJECTION, PATHS].map((one) => ({ ...one, name: `${one.name}, of a lake` }));
const OF_PAGE = [READING, CONNECTIONS, SIGNING_IN];
const OF_EXPORTER = [GARBLED, PACKING, HTTP, TOKEN_ANSWERS, NAMES_CATEGORY, VESSELS, VALUES_CATEGORY].concat(
  STATISTICS,
  LAKES,
  FILES,
);

export const FACES = ['service', 'page', 'exporter'] as const;
export type FaceName = (typeof FACES)[number];

export interface Choice {
  /** One of each category. */
  readonly isShort: boolean;
  /** Names of categories, or the beginning of such names; empty: all. */
  readonly only: readonly string[];
  readonly face?: FaceName;
}

function wanted<C extends Pick<Category<never>, 'name'>>(
  side: FaceName,
  categories: readonly C[],
  { only, face }: Choice,
): C[] {
  if (face !== undefined && face !== side) return [];
  return categories.filter(({ name }) => only.length === 0 || only.some((start) => name.startsWith(start)));
}

/** Names of what would be sent, in order. */
export function listInputs(choice: Choice): { face: string; category: string; name: string }[] {
  const all = { service: [...OF_FLEET, ...OF_LAKE], page: OF_PAGE, exporter: OF_EXPORTER };
  return FACES.flatMap((face) =>
    wanted<Category<never>>(face, all[face], choice).flatMap((category) =>
      chosen(category, choice.isShort).map(({ name }) => ({ face, category: category.name, name })),
    ),
  );
}

/** Sends everything that is chosen; `onSent` hears of each input when it is over. */
export async function runHostile(
  choice: Choice,
  onSent: (sent: Sent, face: FaceName) => void,
): Promise<void> {
  await using folder = await newTempFolder();
  await using exporters = new AsyncDisposableStack();
  let exporter: ReturnType<typeof openExporter> | undefined;
  const openedExporter = async () => {
    exporter ??= openExporter().then((one) => exporters.use(one));
    return await exporter;
  };
  const send = async <Face>(
    side: FaceName,
    categories: readonly Category<Face>[],
    open: () => Promise<Renewed<Face> & Partial<AsyncDisposable>>,
  ) => {
    const sent = wanted(side, categories, choice);
    if (sent.length === 0) return;
    const opened = await open();
    try {
      for (const category of sent)
        await sendAll(opened, category, choice.isShort, (one) => onSent(one, side));
    } finally {
      await opened[Symbol.asyncDispose]?.();
    }
  };
  await send('service', OF_FLEET, () => renewed(() => startServiceProcess({ folder: folder.path })));
  await send('service', OF_LAKE, async () => {
    const dataDir = await (await openedExporter()).servedLake();
    return renewed(() => startServiceProcess({ folder: folder.path, dataDir }));
  });
  await send('page', OF_PAGE, async () => {
    await writePageLake(folder.path);
    return renewed(() => startPage(folder.path));
  });
  await send('exporter', OF_EXPORTER, async () => {
    const face = await openedExporter();
    return { current: () => ({ face, target: face.target }), recover: face.recover };
  });
}
