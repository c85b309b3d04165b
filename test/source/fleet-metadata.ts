/** Metadata of a large fleet as one answer, made as it is sent: nothing of it is held. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { WireShape } from '../../src/core/model/index.ts';

export interface FleetMetadata {
  readonly shape: WireShape;
  readonly vessels: number;
  readonly seriesPerVessel: number;
  /** Bytes of each description. */
  readonly descriptionBytes?: number;
}

const WRITE_BYTES = 256 * 1024;

/** IMO number of the `index`-th vessel. */
export function fleetImo(index: number): string {
  return String(9_000_000 + index);
}

/** Send the fleet's metadata, at the pace of who reads it. */
export async function sendFleet(response: ServerResponse, fleet: FleetMetadata): Promise<void> {
  const isArray = fleet.shape === 'array';
  const description = 'd'.repeat(fleet.descriptionBytes ?? 40);
  response.writeHead(200, {
    'content-type': 'application/json',
    'api-version': isArray ? '2026-09-10' : '2025-10-31',
  });
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  let text = isArray ? '[' : '{';
  for (let vessel = 0; vessel < fleet.vessels; vessel++) {
    for (let series = 0; series < fleet.seriesPerVessel; series++) {
      if (vessel + series > 0) text += ',';
      text += isArray ? element(vessel, series, description) : member(vessel, series, description);
      if (text.length < WRITE_BYTES) continue;
      if (!response.write(text)) await once(response, 'drain', closed).catch(() => {});
      if (response.destroyed) return;
      text = '';
    }
  }
  response.end(text + (isArray ? ']' : '}'));
}

function uuid(vessel: number, series: number): string {
  const digits = String(vessel * 1_000 + series).padStart(12, '0');
  return `0c9f6d1e-3a52-4c8b-9a41-${digits}`;
}

function element(vessel: number, series: number, description: string): string {
  const imo = fleetImo(vessel);
  const [flat, jsmea, maker] = idsOf(imo, series);
  return `{"id":"${flat}","timeSeriesId":"${uuid(vessel, series)}","source":"mac","dataProvider":"Fjordwise","unitOfMeasure":"°C","scale":0.1,"vessel":{"name":"Vessel ${imo}","imo":"${imo}"},"domains":{"jsmea":{"id":"${jsmea}","namingRule":"jsmea_mac","category":"MainEngine","subcategory":"Cylinder${series}","content":"ExhaustGas","item":"Temp"},"flat":{"id":"${flat}","shortName":"ME Tag ${series}"},"maker":{"id":"${maker}","name":"TAG ${series}","description":"${description}","rangeHigh":600.0,"rangeLow":0.0}}}`;
}

function member(vessel: number, series: number, description: string): string {
  const imo = fleetImo(vessel);
  const [flat, jsmea, maker] = idsOf(imo, series);
  const id = uuid(vessel, series);
  return `"${flat}":{"name":"TAG ${series}","description":"${description}","source":"mac","scale":0.1,"uom":"°C","mapsTo":{"jsmea":"${jsmea}","flat":"${flat}","maker":"${maker}","id":"${id}"},"rangeHigh":600.0,"rangeLow":0.0,"timeSeriesId":"${id}","vesselImo":"${imo}","vesselName":"Vessel ${imo}"}`;
}

function idsOf(imo: string, series: number): [flat: string, jsmea: string, maker: string] {
  const jsmea = `IMO${imo}/jsmea_mac/MainEngine/Cylinder${series}/ExhaustGas/Outlet/Temp/`;
  return [`IMO${imo}/ME Tag ${series}`, jsmea, `IMO${imo}/mac/T-${series}`];
}
