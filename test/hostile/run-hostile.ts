/** Sends hostile inputs at the faces, and says which of them held. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXPORTER_CATEGORIES } from './exporter/exporter-categories.ts';
import type { ExporterFace } from './exporter/exporter-face.ts';
import { openExporter } from './exporter/exporter-face.ts';
import type { Category, Sent } from './input.ts';
import { chosen, sendAll } from './input.ts';
import { CONNECTIONS, READING } from './page/load.ts';
import { SIGNING_IN } from './page/logins.ts';
import type { PageFace } from './page/page-face.ts';
import { startRenewedPage } from './page/page-face.ts';
import { INJECTION } from './service/parameters.ts';
import { SERVICE_CATEGORIES } from './service/service-categories.ts';
import type { ServiceFace } from './service/service-face.ts';
import { startRenewedService } from './service/service-face.ts';
import { PATHS } from './service/wire.ts';

/** What a lake is asked for besides: its queries are SQL, and its files lie on a disk. */
const LAKE_CATEGORIES: readonly Category<ServiceFace>[] = [INJECTION, PATHS].map((category) => ({
  ...category,
  name: `${category.name}, of a lake`,
}));

export const FACES = ['service', 'page', 'exporter'] as const;
export type FaceName = (typeof FACES)[number];

const PAGE_CATEGORIES: readonly Category<PageFace>[] = [READING, CONNECTIONS, SIGNING_IN];

export interface Choice {
  /** A few of each category. */
  readonly isShort: boolean;
  /** Names of categories, or the beginning of such names; empty: all. */
  readonly only: readonly string[];
  readonly face?: FaceName;
}

/** Names of what would be sent, in order. */
export function listInputs({
  isShort,
  only,
  face,
}: Choice): { face: string; category: string; name: string }[] {
  const listed = (side: FaceName, categories: readonly Category<never>[]) =>
    face !== undefined && face !== side
      ? []
      : wanted(categories, only).flatMap((category) =>
          chosen(category, isShort).map(({ name }) => ({ face: side, category: category.name, name })),
        );
  return [
    ...listed('service', [...SERVICE_CATEGORIES, ...LAKE_CATEGORIES] as readonly Category<never>[]),
    ...listed('page', PAGE_CATEGORIES as readonly Category<never>[]),
    ...listed('exporter', EXPORTER_CATEGORIES as readonly Category<never>[]),
  ];
}

/** Sends everything that is chosen; `onSent` hears of each input when it is over. */
export async function runHostile(choice: Choice, onSent: (sent: Sent, face: string) => void): Promise<void> {
  const sends = { service: sendAtService, page: sendAtPage, exporter: sendAtExporter };
  for (const face of FACES)
    if (choice.face === undefined || choice.face === face)
      await sends[face](choice, (sent) => onSent(sent, face));
}

function wanted<C extends { readonly name: string }>(categories: readonly C[], only: readonly string[]): C[] {
  return categories.filter(({ name }) => only.length === 0 || only.some((start) => name.startsWith(start)));
}

async function sendAtService({ only, isShort }: Choice, onSent: (sent: Sent) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vessel-export-hostile-'));
  try {
    const madeUp = wanted(SERVICE_CATEGORIES, only);
    if (madeUp.length > 0) {
      await using service = await startRenewedService({ folder });
      for (const category of madeUp) await sendAll(service.current, category, { isShort, onSent });
    }
    const ofLake = wanted(LAKE_CATEGORIES, only);
    if (ofLake.length > 0) {
      // A lake to serve, exported as it should be.
      await using exporter = await openExporter();
      const lake = await exporter.servedLake();
      await using service = await startRenewedService({ folder, dataDir: lake });
      for (const category of ofLake) await sendAll(service.current, category, { isShort, onSent });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function sendAtPage({ only, isShort }: Choice, onSent: (sent: Sent) => void): Promise<void> {
  const categories = wanted(PAGE_CATEGORIES, only);
  if (categories.length === 0) return;
  await using page = await startRenewedPage();
  for (const category of categories) await sendAll(page.current, category, { isShort, onSent });
}

async function sendAtExporter({ only, isShort }: Choice, onSent: (sent: Sent) => void): Promise<void> {
  const categories = wanted<Category<ExporterFace>>(EXPORTER_CATEGORIES, only);
  if (categories.length === 0) return;
  await using face = await openExporter();
  const opened = () => ({ face, target: face.target });
  for (const category of categories) await sendAll(opened, category, { isShort, onSent });
}
