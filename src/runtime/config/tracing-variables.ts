/** The variables about traces: names and meanings are OpenTelemetry's. */
import { z } from 'zod';
import { collectorUrl, flag, headerList, SAMPLERS, type Variable } from './variable.ts';

export const TRACING_VARIABLES = [
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    meaning: 'collector that traces are sent to, by OTLP over http/protobuf (/v1/traces is added)',
    rule: 'an http(s) URL such as http://collector:4318, or not set: nothing is traced',
    schema: collectorUrl,
    optional: true,
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    meaning: 'the same as a whole address, to which nothing is added',
    rule: 'an http(s) URL such as http://collector:4318/v1/traces',
    schema: collectorUrl,
    optional: true,
  },
  {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    meaning: 'headers that are sent along with traces, such as a key',
    rule: 'name=value, several with commas between, values percent-encoded',
    schema: headerList,
    secret: true,
    fromFile: true,
    optional: true,
  },
  {
    name: 'OTEL_SERVICE_NAME',
    meaning: 'what these processes are called in traces (not set: vessel-export)',
    rule: 'not empty',
    schema: z.string().min(1),
    optional: true,
  },
  {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    meaning: 'what else traces say of these processes',
    rule: 'name=value, several with commas between',
    schema: z.string().regex(/^[^=,]+=[^,]*(,[^=,]+=[^,]*)*$/),
    optional: true,
  },
  {
    name: 'OTEL_TRACES_SAMPLER',
    meaning: 'which vessel-days are traced (not set: all, or as who began the trace has it)',
    rule: `one of ${SAMPLERS.join(', ')}`,
    schema: z.enum(SAMPLERS),
    optional: true,
  },
  {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    meaning: 'share of them, for traceidratio',
    rule: 'a number from 0 to 1',
    schema: z.string().regex(/^(0(\.\d+)?|1(\.0+)?)$/),
    optional: true,
  },
  {
    name: 'OTEL_SDK_DISABLED',
    meaning: 'no traces, whatever else is set',
    rule: '0 or 1',
    schema: flag,
    fallback: () => '0',
  },
] as const satisfies readonly Variable[];
