import type { BatchObservableResult } from "@opentelemetry/api";
import { apiClientOf } from "../api/api-client.js";
import { describeValue } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isPlainObject, parseOptions } from "../core/parse.js";
import type { FlowClient } from "../flows/options.js";
import type { PaymentFlow } from "../flows/payment-flow.js";
import type { FlowGauges } from "../flows/status.js";
import { meterOf, type OpenTelemetryApi, withMethods } from "./open-telemetry.js";

/** A `PaymentFlow`, or a `CrossBorderClient` if there is no flow. */
export type GaugeSource = Pick<PaymentFlow, "gauges"> | FlowClient;

/** Options of `observeGauges`. */
export interface GaugeOptions {
  /** Makes the instruments. Default: the meter `cross-border-payments` of the global provider. */
  readonly meter?: ObservableMeter | undefined;
  /** Attributes of every gauge, which distinguish the flows of one process, such as `{ "cross_border.gateway": "alpha-bank" }`. */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
}

/** The part of a meter that `observeGauges` uses. */
export interface ObservableMeter {
  createObservableGauge(name: string): object;
  addBatchObservableCallback(callback: never, observables: never): void;
  removeBatchObservableCallback(callback: never, observables: never): void;
}

/** Gauges that are exported until they are stopped. */
export interface ObservedGauges {
  /** Stops the export. Call it before you close the flow, its journal, or the client. */
  stop(): void;
}

/**
 * Exports `flow.gauges()` as gauges: flows by phase, flows that need an operator, the age of the oldest, the work, the circuit breaker,
 * and the tokens. For a client, only the tokens. Start the SDK first.
 *
 * Each collection reads once, for at most 5 seconds. If the journal can't be read, `cross_border.journal.readable` is 0.
 *
 * @example
 * const gauges = observeGauges(api, flow);
 * // when the process ends
 * gauges.stop();
 * await flow.close();
 * @throws {ConfigError} if `api`, the flow, or an option is something else.
 */
export function observeGauges(api: OpenTelemetryApi, of: GaugeSource, options: GaugeOptions = {}): ObservedGauges {
  const refuse = (message: string) => new ConfigError(`observeGauges: ${message}`);
  const { meter: given, attributes }: GaugeOptions = parseOptions(gaugeOptions, options, "the options", refuse);
  const meter = meterOf(api, given, refuse);
  const read = readerOf(of, refuse);
  const observables = gauges.map(({ name, unit, description }) =>
    meter.createObservableGauge(name, { description, ...(unit !== undefined && { unit }) }),
  );
  const observe = async (result: BatchObservableResult): Promise<void> => {
    const reading = await read();
    for (const [index, instrument] of observables.entries()) {
      const { by = "", value } = gauges[index] ?? {};
      const values = value?.(reading);
      if (typeof values === "number") result.observe(instrument, values, { ...attributes });
      else
        for (const [name, one] of Object.entries(values ?? {}))
          result.observe(instrument, one, { ...attributes, [by]: name });
    }
  };
  meter.addBatchObservableCallback(observe, observables);
  return { stop: () => meter.removeBatchObservableCallback(observe, observables) };
}

const gaugeOptions: CheckTable<GaugeOptions> = {
  meter: withMethods("createObservableGauge", "addBatchObservableCallback", "removeBatchObservableCallback"),
  attributes: {
    accepts: (value) => isPlainObject(value) && Object.values(value).every((each) => typeof each === "string"),
    expected: "an object of strings",
  },
};

/** Without a flow, only the tokens are known. */
type Reading = Partial<FlowGauges>;

function readerOf(of: GaugeSource, refuse: (message: string) => Error): () => Promise<Reading> {
  if ("gauges" in Object(of)) return () => (of as Pick<PaymentFlow, "gauges">).gauges();
  const client = apiClientOf(of as FlowClient);
  if (client === undefined) throw refuse(`pass a PaymentFlow or a CrossBorderClient; got ${describeValue(of)}`);
  return async () => ({ ...(client.tokenHold && { tokenHold: client.tokenHold }) });
}

interface Gauge {
  readonly name: string;
  /** Absent if the value is 0 or 1, because some exporters make a suffix of a unit of 1. */
  readonly unit?: string;
  readonly description: string;
  /** The attribute that distinguishes several values. */
  readonly by?: string;
  /** Returns nothing if it isn't known now. */
  readonly value: (reading: Reading) => number | Readonly<Record<string, number>> | undefined;
}

const byPhase = { by: "cross_border.flow.phase" };

export const gauges: readonly Gauge[] = [
  {
    ...{ name: "cross_border.flow.count", unit: "{flow}", ...byPhase },
    description: "Flows in each phase, of all processes",
    value: ({ stored }) => stored?.phases,
  },
  {
    ...{ name: "cross_border.flow.oldest.age", unit: "s", ...byPhase },
    description: "Age of the oldest flow in each phase in which it waits",
    value: ({ stored }) =>
      Object.fromEntries(Object.entries(stored?.oldestMs ?? {}).map(([phase, ageMs]) => [phase, ageMs / 1000])),
  },
  {
    ...{ name: "cross_border.flow.attention", unit: "{flow}", by: "cross_border.flow.reason" },
    description: "Flows that wait for an operator, by the reason",
    value: ({ stored }) => stored && { held: stored.phases.held, elsewhere: stored.elsewhere },
  },
  {
    ...{ name: "cross_border.flow.unowned", unit: "{flow}" },
    description: "Open flows without an owner, which work of some process takes over",
    value: ({ stored }) => stored?.unowned,
  },
  {
    ...{ name: "cross_border.work.flows", unit: "{flow}" },
    description: "Flows that this process has taken over and that have not ended",
    value: ({ work }) => work?.flows,
  },
  {
    ...{ name: "cross_border.work.queued", unit: "{flow}" },
    description: "Flows that this process has taken over and that wait for a place",
    value: ({ work }) => work?.queued,
  },
  {
    name: "cross_border.circuit_breaker.open",
    description: "1 while this process takes no money, because several payments in a row ended unknown",
    value: ({ isCircuitOpen }) => (isCircuitOpen === undefined ? undefined : Number(isCircuitOpen)),
  },
  {
    name: "cross_border.journal.readable",
    description: "0 if the journal could not be read for these metrics",
    value: ({ work, stored }) => work && Number(stored !== undefined),
  },
  {
    name: "cross_border.token.held",
    description: "1 while the client requests no token, because of the last response",
    value: ({ tokenHold }) => Number(tokenHold !== undefined),
  },
];
