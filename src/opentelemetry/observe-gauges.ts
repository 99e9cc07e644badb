import type { BatchObservableResult } from "@opentelemetry/api";
import { apiClientOf } from "../api/api-client.js";
import { describeValue } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isFunction, isPlainObject, parseOptions } from "../core/parse.js";
import type { FlowClient } from "../flows/options.js";
import type { PaymentFlow } from "../flows/payment-flow.js";
import { gauges, type Reading } from "./gauges.js";
import { meterOf, type OpenTelemetryApi } from "./open-telemetry.js";

/** What gauges are read of: a `PaymentFlow`, or a `CrossBorderClient` where there is no flow. */
export type GaugeSource = Pick<PaymentFlow, "gauges"> | FlowClient;

/** Options of `observeGauges`. */
export interface GaugeOptions {
  /** Where instruments come from. Default: the meter `cross-border-payments` of the global provider. */
  readonly meter?: ObservableMeter | undefined;
  /** Attributes of every gauge, which tell one flow's from another's in the same process, such as `{ "cross_border.gateway": "alpha-bank" }`. */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
}

/** What `observeGauges` needs of a meter. */
export interface ObservableMeter {
  createObservableGauge(name: string): object;
  addBatchObservableCallback(callback: never, observables: never): void;
  removeBatchObservableCallback(callback: never, observables: never): void;
}

/** Gauges that are exported until they are stopped. */
export interface ObservedGauges {
  /** Exports no more of them. Call it before the flow, its journal or the client is closed. */
  stop(): void;
}

/**
 * Exports how things stand as gauges, by `flow.gauges()`: flows by phase, what waits for an operator, the age of the oldest, the work, the circuit
 * breaker, and the tokens. Of a client, the tokens alone. Start the SDK first.
 *
 * Each collection reads once, for 5 seconds at most; collectors share what is read within 5 seconds. It never throws into a collector: where the journal
 * can't be read, `cross_border.journal.readable` is 0.
 *
 * @example
 * const gauges = observeGauges(api, flow);
 * // when the process ends
 * gauges.stop();
 * await flow.close();
 * @throws {ConfigError} when `api`, the flow or an option is something else.
 */
export function observeGauges(api: OpenTelemetryApi, of: GaugeSource, options: GaugeOptions = {}): ObservedGauges {
  const refuse = (message: string) => new ConfigError(`observeGauges: ${message}`);
  const { meter: given, attributes }: GaugeOptions = parseOptions(gaugeOptions, options, "the options", refuse);
  const meter = meterOf(api, given, "observeGauges");
  const read = readerOf(of, refuse);
  const instruments = gauges.map(({ name, unit, description, points }) => {
    const instrument = meter.createObservableGauge(name, {
      description,
      ...(unit === undefined ? undefined : { unit }),
    });
    return { instrument, points };
  });
  const observe = async (result: BatchObservableResult): Promise<void> => {
    const reading = await read();
    for (const { instrument, points } of instruments) {
      for (const { value, attributes: own } of points(reading)) {
        result.observe(instrument, value, { ...attributes, ...own });
      }
    }
  };
  const observables = instruments.map(({ instrument }) => instrument);
  meter.addBatchObservableCallback(observe, observables);
  return { stop: () => meter.removeBatchObservableCallback(observe, observables) };
}

const gaugeOptions: CheckTable<GaugeOptions> = {
  meter: {
    accepts: (value) =>
      ["createObservableGauge", "addBatchObservableCallback", "removeBatchObservableCallback"].every((method) =>
        isFunction(Reflect.get(Object(value), method)),
      ),
    wanted:
      "a meter, with the methods createObservableGauge, addBatchObservableCallback and removeBatchObservableCallback",
  },
  attributes: {
    accepts: (value) => isPlainObject(value) && Object.values(Object(value)).every((each) => typeof each === "string"),
    wanted: "an object of strings",
  },
};

function readerOf(of: GaugeSource, refuse: (message: string) => Error): () => Promise<Reading> {
  if (isFlow(of)) {
    return async () => {
      const read = await of.gauges();
      return { flow: read, tokenHold: read.tokenHold };
    };
  }
  const client = apiClientOf(of);
  if (client === undefined) throw refuse(`wanted is a PaymentFlow or a CrossBorderClient; got ${describeValue(of)}`);
  return async () => ({ tokenHold: client.tokenHold });
}

function isFlow(of: GaugeSource): of is Pick<PaymentFlow, "gauges"> {
  return isFunction(Reflect.get(Object(of), "gauges"));
}
