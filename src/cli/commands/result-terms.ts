/** Terms of what commands print for machines: one rule and one meaning for each. */
import { z } from 'zod';
import { JOB_NAME, VESSEL_ID } from '../../core/model/index.ts';

export const shape = z.strictObject;
export const whole = z.int().min(0);
export const text = z.string();
const utcDate = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
export const job = z.string().regex(JOB_NAME).describe('name of a job');
export const vessel = z.string().regex(VESSEL_ID);
export const date = utcDate.describe('UTC date');
export const from = utcDate.describe('first UTC date');
export const to = utcDate.describe('UTC date to stop before');
export const vessels = z.array(vessel).readonly();
export const vesselDays = whole.describe('how many vessel-days');
export const rows = whole.describe('rows in the lake');
export const readings = whole.describe('readings, as the source counts them');
export const sizeBytes = whole.describe('bytes of objects');
export const code = text.describe('stable word that scripts may match');
export const message = text.describe('the same for people');
export const instant = z.iso.datetime();
export const day = { job, vessel, date };
export const jobRange = { job, from, to };
