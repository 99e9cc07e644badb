import { CrossBorderError } from "../errors/errors.js";
import type { ReleaseFundsByKey, TakeFundsByKey } from "../flows/funds-functions.js";
import type { SimulatedProcess } from "./simulated-process.js";
import type { Truth } from "./truth.js";
import type { RemoteFault, World } from "./world.js";

/** The two functions of the bank, as every process calls them. */
export interface FundsPair {
  readonly takeFunds: TakeFundsByKey;
  readonly releaseFunds: ReleaseFundsByKey;
}

/** Calls the bank's functions over a network that fails before and after them, and tells the truth what they did. */
export function watchedFunds(funds: FundsPair, process: SimulatedProcess, world: World, truth: Truth): FundsPair {
  const remote = <T>(
    name: "takeFunds" | "releaseFunds",
    key: string,
    execute: () => T | Promise<T>,
    onSent?: () => void,
  ): Promise<T> => {
    const fault = faultOf(world);
    const isSlow = world.choices.chance(world.profile.bankIsSlow);
    if (fault !== "before") onSent?.();
    if (fault === "before") world.marks.happened(key, `${name} fails`);
    else if (fault === "after") world.marks.happened(key, lostResponses[name]);
    if (isSlow) world.marks.happened(key, `${name} is slow`);
    return world.remote(process, {
      label: `${name} of ${key}`,
      fault,
      isSlow,
      execute,
      isReal: true,
      toError: () => new CrossBorderError("the bank is away", { code: "unexpected_failure" }),
    });
  };
  return {
    takeFunds: (context) =>
      remote("takeFunds", context.key, () =>
        noted(funds.takeFunds(context), (response) => {
          world.recorder?.note({ type: "asked", key: context.key, process: process.name, response });
          truth.asked(context.key, response);
        }),
      ),
    releaseFunds: (context) =>
      remote(
        "releaseFunds",
        context.key,
        () => {
          truth.releaseArrived(context.key);
          return noted(funds.releaseFunds(context), () => {
            world.recorder?.note({ type: "released", key: context.key, process: process.name });
            truth.released(context.key);
          });
        },
        () => {
          world.recorder?.note({ type: "releaseSent", key: context.key, process: process.name });
          truth.releaseSent(context.key);
        },
      ),
  };
}

const lostResponses = {
  takeFunds: "takeFunds takes, and its response is lost",
  releaseFunds: "releaseFunds releases, and its response is lost",
} as const;

function faultOf({ choices, profile }: World): RemoteFault {
  if (choices.chance(profile.bankFailsBefore)) return "before";
  return choices.chance(profile.bankFailsAfter) ? "after" : undefined;
}

/** Notes the result at once where there is nothing to wait for. */
function noted<T>(result: T | Promise<T>, note: (result: T) => void): T | Promise<T> {
  if (result instanceof Promise) {
    return result.then((value) => {
      note(value);
      return value;
    });
  }
  note(result);
  return result;
}
